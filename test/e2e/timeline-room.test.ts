import { describe, expect, it } from 'vitest';
import { now, record } from './timeline/fixtures';
import { FixtureBackend, type OpenPage } from './timeline/harness';
import { timelineTests } from './timeline/hooks';

/** Everything has its place: nothing is cut off, nothing is too small, and nothing moves that a person did not move. */
const timeline = timelineTests();
const { showAfternoon } = timeline;

const agent = (number: number) => ({ id: `ses_${number}`, title: `Session ${number}`, parent: null });

/** What is wider than its place, of what must be read whole. */
const cutOff = ({ page }: OpenPage, selector: string): Promise<string[]> =>
  page
    .locator(selector)
    .evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent ?? ''));

describe('room', () => {
  it.each([645, 700, 800])('shows the time of every row beside the details, at %i px', async (width) => {
    const shown = await showAfternoon({ width });
    const { page, unblocked } = shown;
    await page.locator(`[data-key="${unblocked.id}"]`).click();
    await page.waitForSelector('.task-changes');
    const edge = await page.locator('timeline-list').evaluate((list) => list.getBoundingClientRect().right);
    const ends = await page
      .locator('.row .time')
      .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().right));
    expect(Math.max(...ends)).toBeLessThanOrEqual(edge);
  });

  it('names triggers, actions and what a checkpoint holds in full in the narrowest side bar', async () => {
    const shown = await showAfternoon({ width: 220, placement: 'view' });
    const { page, unblocked } = shown;
    await page.locator('input').fill('trigger:');
    await page.locator('.suggestion').first().waitFor();
    expect(await cutOff(shown, '.suggestion-label')).toEqual([]);
    await page.locator('input').fill('');
    await page.locator('.list').focus();
    await page.locator(`[data-key="${unblocked.id}"]`).click();
    await page.locator('.facet').first().waitFor();
    expect(await cutOff(shown, '.facet-name, .facet-value')).toEqual([]);
    const right = await page
      .locator('.detail-actions vscode-button')
      .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().right));
    expect(right).toHaveLength(3);
    expect(Math.max(...right)).toBeLessThanOrEqual(220);
  });

  it.each([170, 230])('keeps everything in sight that floats or appears, at %i px', async (width) => {
    const { page, backend, unblocked } = await showAfternoon({ width, height: 460, placement: 'view' });
    /** What reaches out of the view, or has text that does. */
    const outside = (selector: string): Promise<string[]> =>
      page.locator(selector).evaluateAll((all) =>
        all
          .flatMap((one) => [one, ...one.querySelectorAll('*')])
          .filter((one) => one.getClientRects().length > 0 && !one.closest('.unseen'))
          .filter((one) => Math.ceil(one.getBoundingClientRect().right) > window.innerWidth)
          .map((one) => one.className),
      );
    const point = page.locator(`[data-key="${unblocked.id}"]`);
    await point.click();
    await page.waitForSelector('.task-changes');
    expect(await outside('.task')).toEqual([]);
    expect(await outside('.task-changes')).toEqual([]);
    await page.keyboard.press('Shift+F10');
    await page.waitForSelector('.menu-item:focus');
    expect(await outside('.menu')).toEqual([]);
    expect(
      await page
        .locator('.menu-label')
        .evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent)),
    ).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByLabel('Legend and Keys').click();
    expect(await outside('.help')).toEqual([]);
    await page.keyboard.press('Escape');
    await page.locator('.list').focus();
    await page.keyboard.press(' ');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press(' ');
    const clear = await page.getByLabel('Clear Marks').boundingBox();
    const compare = await page.locator('.compare-bar vscode-button').boundingBox();
    expect((clear?.y ?? 0) + (clear?.height ?? 0)).toBeLessThanOrEqual(compare?.y ?? 0);
    // There is room for more than one row beside the comparison and the details.
    expect((await page.locator('.list').boundingBox())?.height).toBeGreaterThan(70);
    backend.workspaces = [
      { id: 'w1', name: 'shop' },
      { id: 'w2', name: 'a-server-with-a-long-name' },
    ];
    backend.change();
    await page.getByLabel('Folder').waitFor();
    expect(await outside('.toolbar')).toEqual([]);
  });

  it('breaks no word of what a checkpoint holds, where a side bar is as narrow as it gets', async () => {
    const { page, unblocked } = await showAfternoon({ width: 190, placement: 'view' });
    await page.locator(`[data-key="${unblocked.id}"]`).click();
    await page.locator('.facet').first().waitFor();
    const broken = await page.locator('.facet-value').evaluateAll((all) =>
      all.flatMap((one) => {
        const text = [...one.childNodes].find((node) => node.nodeType === Node.TEXT_NODE && node.textContent?.trim());
        // The name of a branch may have any length.
        return [...(text?.textContent ?? '').matchAll(/(?<!\S)\w+(?!\S)/g)].flatMap(({ 0: word, index }) => {
          const range = document.createRange();
          if (!text) return [];
          range.setStart(text, index);
          range.setEnd(text, index + word.length);
          return range.getClientRects().length > 1 ? [word] : [];
        });
      }),
    );
    expect(broken).toEqual([]);
  });

  it.each([170, 240])('cuts off no number of a file that changed, at %i px', async (width) => {
    const { page, big } = await showAfternoon({ width, placement: 'view' });
    await page.locator(`[data-key="${big.id}"]`).click();
    await page.waitForSelector('.file');
    const ends = await page
      .locator('.file-numbers, .file-binary')
      .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().right));
    expect(Math.max(...ends)).toBeLessThanOrEqual(width);
    const names = await page
      .locator('.file-name')
      .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().width));
    expect(Math.min(...names)).toBeGreaterThanOrEqual(40);
  });

  it('lets one scroll to the button of a message in a low view', async () => {
    const backend = new FixtureBackend([]);
    backend.workspace = null;
    backend.workspaces = [];
    const height = 120;
    const { page } = await timeline.open(backend, { width: 300, height, placement: 'view' });
    const button = page.getByText('Open Folder');
    await button.waitFor();
    await page.mouse.move(150, 60);
    await page.mouse.wheel(0, 500);
    const bottom = async (): Promise<number> => {
      const box = await button.boundingBox();
      return box === null ? Infinity : box.y + box.height;
    };
    await expect.poll(bottom).toBeLessThanOrEqual(height);
  });

  it.each([220, 1100])('has no text under 11 pixels and nothing to click under 24, at %i px', async (width) => {
    const shown = await showAfternoon({ width, height: 900, placement: width < 400 ? 'view' : 'editor' });
    const { page, unblocked } = shown;
    await page.locator(`[data-key="${unblocked.id}"]`).click();
    await page.keyboard.press(' ');
    await page.waitForSelector('.task-list li.new');
    await page.getByLabel('Legend and Keys').click();
    const small = await page.evaluate(() => {
      const size = (one: Element, pseudo?: string): number => parseFloat(getComputedStyle(one, pseudo).fontSize);
      const texts = [...document.querySelectorAll('.page *')].filter((one) =>
        [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent?.trim()),
      );
      const tiny = texts.filter((one) => size(one) < 11).map((one) => `${one.className}: ${size(one)}`);
      const marks = [...document.querySelectorAll('.task-list li.new > span:last-child')];
      return [...tiny, ...marks.filter((one) => size(one, '::after') < 11).map(() => 'new')];
    });
    expect(small).toEqual([]);
    // Links within a sentence are as high as the sentence.
    const targets = await page.evaluate(() =>
      [...document.querySelectorAll('button:not(.link), vscode-button, summary, .suggestion, .menu-item')]
        .map((one) => {
          const { width: w, height: h } = one.getBoundingClientRect();
          const around = parseFloat(getComputedStyle(one, '::after').top) || 0;
          return { name: one.className || one.tagName, w, h: h - 2 * Math.min(0, around) };
        })
        .filter(({ w, h }) => w > 0 && (w < 24 || h < 24)),
    );
    expect(targets).toEqual([]);
  });

  it.each([390, 450, 560])('leaves the rows most of it, however many lanes there are, at %i px', async (width) => {
    const checkpoints = Array.from({ length: 24 }, (_, index) =>
      record(now - (24 - index) * 60_000, 'turn', `Step ${index} of what this agent was told to do`, {
        session: { ...agent(index % 12), messageId: null, messageCount: index },
        files: { ...record(0, 'turn', '').files, added: 12, modified: 34, deleted: 56 },
      }),
    );
    const { page } = await timeline.open(new FixtureBackend(checkpoints), { width, placement: 'view' });
    await page.waitForSelector('.row');
    const wide = await page.locator('.row:not(.day)').evaluateAll((all) =>
      all.map((one) => ({
        title: one.querySelector('.title')?.getBoundingClientRect().width ?? 0,
        end: one.querySelector('.time')?.getBoundingClientRect().right ?? 0,
      })),
    );
    expect(Math.max(...wide.map(({ end }) => end))).toBeLessThanOrEqual(width);
    expect(Math.min(...wide.map(({ title }) => title))).toBeGreaterThan(60);
  });

  it('shows names that are read from the right from where they begin', async () => {
    const title = 'תיקון זרימת ההתחברות כשהאסימון פג';
    const session = { id: 'ses_1', title, parent: null, messageId: null, messageCount: 2 };
    const { page } = await timeline.open(new FixtureBackend([record(now - 60_000, 'turn', title, { session })]));
    await page.locator('.facet').first().waitFor();
    for (const place of ['.row .title', '.row .chip-text', '.detail .chip-text', '.detail h2'])
      expect(await page.locator(place).evaluate((one) => getComputedStyle(one).direction), place).toBe('rtl');
  });

  it('gives lanes that share a column no colour, but the one that is looked at', async () => {
    const checkpoints = Array.from({ length: 24 }, (_, index) =>
      record(now - (24 - index) * 60_000, 'turn', `Step ${index}`, {
        session: { ...agent(index % 8), messageId: null, messageCount: index },
      }),
    );
    const shown = await timeline.open(new FixtureBackend(checkpoints), { width: 300, placement: 'view' });
    const { page } = shown;
    await page.waitForSelector('.row');
    expect(await page.locator('.lanes .lane.shared').count()).toBe(5);
    await page.locator('.list').focus();
    await page.keyboard.press('Home');
    await expect.poll(() => page.locator('.lanes .lane.shared').count()).toBe(4);
    // On top of the ones it hides.
    const last = page.locator('.lanes .lane').last();
    expect(await last.getAttribute('class')).toContain('emphasised');
  });
});

describe('a low view', () => {
  it.each([190, 300])('keeps the way out of a notice in sight, and rows below it, at %i px', async (width) => {
    const { page, backend } = await showAfternoon({ width, height: 150, placement: 'view' });
    const text =
      'The OpenCode plugin is not installed: checkpoints are made from the server’s events, and may be late.';
    backend.notices = [{ level: 'warning', text, action: { id: 'installPlugin', label: 'Install Plugin' } }];
    backend.change();
    const wayOut = page.getByRole('button', { name: 'Install Plugin' });
    await wayOut.waitFor();
    const [notices, button] = [await page.locator('.notices').boundingBox(), await wayOut.boundingBox()];
    expect(button!.y + button!.height).toBeLessThanOrEqual(notices!.y + notices!.height);
    expect(button!.x + button!.width).toBeLessThanOrEqual(width);
    expect(notices!.height).toBeLessThan(40);
    expect(await page.getByTitle(text).count()).toBe(1);
  });

  it('is for the list; the details come in its place, and only when asked for', async () => {
    const shown = await showAfternoon({ width: 300, height: 150, placement: 'view' });
    const { page, unblocked } = shown;
    const title = (): Promise<string> => page.locator('.row.selected .title').innerText();
    await page.locator(`[data-key="${unblocked.id}"]`).click();
    await expect.poll(title).toBe(unblocked.title);
    expect(await page.locator('timeline-detail').count()).toBe(0);
    await page.keyboard.press('Enter');
    await page.waitForSelector('.detail:focus');
    const place = (): Promise<DOMRect> =>
      page.locator('timeline-detail').evaluate((one) => one.getBoundingClientRect());
    expect((await place()).height).toBeGreaterThan(90);
    // What is behind it cannot be reached.
    expect(await page.locator('.main').getAttribute('inert')).toBe('');
    await page.keyboard.press('Escape');
    await page.waitForSelector('.list:focus');
    await page.keyboard.press('ArrowDown');
    await expect.poll(title).toBe('After turn 4');
    await page.getByLabel('Show Details').click();
    await page.waitForSelector('.detail:focus');
    // With more room both have their place.
    await page.setViewportSize({ width: 300, height: 700 });
    await expect.poll(async () => (await place()).top).toBeGreaterThan(200);
    expect(await page.locator('.main').getAttribute('inert')).toBe(null);
  });
});

describe('a low and wide view', () => {
  it('gives what is read in the details all its height', async () => {
    const { page, unblocked } = await showAfternoon({ width: 900, height: 230, placement: 'view' });
    await page.locator(`[data-key="${unblocked.id}"]`).click();
    await page.waitForSelector('.task-changes');
    await page.locator('.detail').evaluate((detail) => (detail.scrollTop = detail.scrollHeight));
    const head = await page.locator('.detail-head').boundingBox();
    const detail = await page.locator('.detail').boundingBox();
    expect((head?.y ?? 0) + (head?.height ?? 0)).toBeLessThan(detail?.y ?? 0);
  });
});

describe('calm', () => {
  it('moves no row when work begins and ends', async () => {
    const shown = await showAfternoon();
    const { page, backend } = shown;
    const tops = (): Promise<number[]> =>
      page.locator('.row').evaluateAll((all) => all.map((one) => one.getBoundingClientRect().top));
    const before = await tops();
    backend.operation = { title: 'Creating a checkpoint…' };
    backend.change();
    await page.getByText('Creating a checkpoint…').waitFor();
    expect(await tops()).toEqual(before);
    backend.operation = null;
    backend.change();
    await page.getByText('Creating a checkpoint…').waitFor({ state: 'detached' });
    expect(await tops()).toEqual(before);
  });

  it('takes the card away with the row it is about', async () => {
    const shown = await showAfternoon();
    const { page, backend } = shown;
    const card = page.locator('.tooltip');
    const rowAt = page.locator('.row.by-task').first();
    await rowAt.hover({ position: { x: 150, y: 10 } });
    await page.waitForSelector('.tooltip.placed');
    const about = await card.innerText();
    backend.checkpoints = [...backend.checkpoints, record(now - 1000, 'manual', 'Just now')];
    backend.change();
    await page.locator('.row .title', { hasText: 'Just now' }).waitFor();
    await expect.poll(async () => (await card.count()) === 0 || (await card.innerText()) !== about).toBe(true);
    // While one is further down, nothing moves, and the card stays.
    await page.locator('.list').evaluate((list) => (list.scrollTop = 300));
    await page
      .locator('.row.by-turn')
      .nth(4)
      .hover({ position: { x: 150, y: 10 } });
    await page.waitForSelector('.tooltip.placed');
    backend.checkpoints = [...backend.checkpoints, record(now - 500, 'manual', 'And another one')];
    backend.change();
    await expect.poll(() => page.locator('.live').innerText()).toContain('And another one');
    expect(await card.count()).toBe(1);
  });

  it('shows no card of a row that only came under the pointer, and cuts none off', async () => {
    const title = 'x'.repeat(200);
    const session = { id: 'ses_long', messageId: null, messageCount: 0, title, parent: null };
    const shown = await showAfternoon();
    const { page, backend } = shown;
    backend.checkpoints = [...backend.checkpoints, { ...record(now - 100, 'manual', 'In a long session'), session }];
    backend.change();
    const row = page.locator('.row.named, .row').filter({ hasText: 'In a long session' }).first();
    await row.hover({ position: { x: 150, y: 10 } });
    const card = page.locator('.tooltip.placed');
    await card.waitFor();
    expect(await card.evaluate((element) => element.scrollWidth <= element.clientWidth)).toBe(true);
    await page.locator('.list').focus();
    for (const key of ['Home', 'End', 'ArrowUp']) await page.keyboard.press(key);
    await card.waitFor({ state: 'detached' });
    // Longer than a card takes to come.
    await page.waitForTimeout(900);
    expect(await card.count()).toBe(0);
    await page
      .locator('.row.by-turn')
      .last()
      .hover({ position: { x: 170, y: 12 } });
    await card.waitFor();
  });

  it('begins a filter at its newest row where what was selected is filtered away', async () => {
    const { page } = await showAfternoon({ width: 700, height: 260 });
    const list = page.locator('.list');
    const top = (): Promise<number> => list.evaluate((element) => element.scrollTop);
    await list.focus();
    await page.keyboard.press('End');
    await expect.poll(top).toBeGreaterThan(100);
    const selected = await page.locator('.row.selected .title').innerText();
    await page.locator('input').fill('trigger:tool');
    await page.locator('.row', { hasText: selected }).waitFor({ state: 'detached' });
    expect(await list.evaluate((element) => element.scrollHeight > element.clientHeight)).toBe(true);
    await expect.poll(top).toBe(0);
  });

  it('keeps the row in sight that one marks, when the comparison takes its room', async () => {
    const shown = await showAfternoon({ width: 300, height: 420, placement: 'view' });
    const { page } = shown;
    await page.locator('.list').focus();
    await page.keyboard.press('Home');
    for (let row = 0; row < 3; row++) await page.keyboard.press('ArrowDown');
    await page.keyboard.press(' ');
    await page.waitForSelector('.compare-bar');
    const hidden = (): Promise<number> =>
      page.evaluate(() => {
        const list = document.querySelector('.list')?.getBoundingClientRect() ?? new DOMRect();
        const selected = document.querySelector('.row.selected')?.getBoundingClientRect() ?? new DOMRect();
        return Math.max(0, Math.floor(list.top - selected.top), Math.floor(selected.bottom - list.bottom));
      });
    await expect.poll(hidden).toBe(0);
  });
});
