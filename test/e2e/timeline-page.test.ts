import { stat } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { listNames, textNames } from '../../src/protocol/task-names';
import type { TimelineAction } from '../../src/protocol/timeline';
import { afternoon, many, now, record } from './timeline/fixtures';
import { FixtureBackend, type OpenOptions, type OpenPage } from './timeline/harness';
import { timelineTests } from './timeline/hooks';
import { themeNames } from './timeline/themes';

/** The page as it ships, in a real browser, under the policy VS Code gives it; only the host behind it is made up. */
const timeline = timelineTests();
const { showAfternoon } = timeline;
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

async function show(backend: FixtureBackend, options: OpenOptions = {}): Promise<OpenPage> {
  const open = await timeline.open(backend, options);
  await open.page.waitForSelector('.row, .state:not(.loading)');
  return open;
}

const row = ({ page }: OpenPage, id: string): Locator => page.locator(`[data-key="${id}"]`);
const selectedTitle = ({ page }: OpenPage): Promise<string> => page.locator('.row.selected .title').innerText();
const said = ({ page }: OpenPage): Locator => page.locator('.live');

async function acted({ backend, page }: OpenPage, count = 1): Promise<TimelineAction[]> {
  await expect.poll(() => backend.actions.length).toBe(count);
  await page.locator('.progress.busy').waitFor({ state: 'hidden' });
  return backend.actions.splice(0);
}

async function violations({ page }: OpenPage): Promise<string[]> {
  await page.evaluate(axe);
  const result = await page.evaluate(async () => {
    const { axe: runner } = window as unknown as {
      axe: { run: (options: object) => Promise<{ violations: Array<{ id: string; nodes: Array<{ html: string }> }> }> };
    };
    // The whole page belongs to VS Code's frame, which has the headings and landmarks of the window.
    return runner.run({ rules: { 'page-has-heading-one': { enabled: false } } });
  });
  return result.violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`));
}

describe('looks', () => {
  it.each(
    themeNames.flatMap((theme) => [
      { theme, width: 1100 },
      { theme, width: 230 },
    ]),
  )('has no accessibility violation in $theme at $width px', async ({ theme, width }) => {
    const shown = await showAfternoon({ theme, width, placement: width < 400 ? 'view' : 'editor' });
    await row(shown, shown.unblocked.id).click();
    await shown.page.waitForSelector('.task-changes');
    expect(await violations(shown)).toEqual([]);
  });

  it('calls the fields of a task as the Task view does', async () => {
    const shown = await showAfternoon();
    await row(shown, shown.unblocked.id).click();
    await shown.page.waitForSelector('.task-changes');
    const known = ['Status', ...Object.values(textNames), ...Object.values(listNames)];
    const names = await shown.page.locator('.task-field, .task h4').allInnerTexts();
    expect(names.length).toBeGreaterThan(3);
    expect(names.filter((name) => !known.includes(name))).toEqual([]);
  });

  it('has none in menu, legend, suggestions, comparison and the states without rows', async () => {
    const shown = await showAfternoon();
    const { page } = shown;
    await page.locator('.row.by-turn').nth(1).click({ button: 'right' });
    await page.waitForSelector('.menu');
    expect(await violations(shown)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.keyboard.press(' ');
    await page.getByLabel('Legend and Keys').click();
    expect(await violations(shown)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.locator('.help').waitFor({ state: 'detached' });
    await page.locator('input').fill('trigger:t before:soon');
    expect(await violations(shown)).toEqual([]);
    await page.locator('input').fill('no such thing at all');
    await page.getByText('Nothing matches the filter').waitFor();
    expect(await violations(shown)).toEqual([]);
  });

  it('draws a point for each row in sight, in the shape of its trigger, and a line per session', async () => {
    const shown = await showAfternoon();
    const { page } = shown;
    for (const trigger of ['turn', 'idle', 'manual', 'task', 'restore', 'import', 'compaction'])
      expect(await page.locator(`.lanes .point-${trigger}`).count(), trigger).toBeGreaterThan(0);
    const pale = await page
      .locator('.lanes .fill')
      .evaluateAll((all) => all.map((one) => getComputedStyle(one).fill).filter((fill) => fill.startsWith('rgba')));
    expect(pale).toEqual([]);
    expect(await page.locator('.lanes path.lane').count()).toBe(4);
    const fork = await page
      .locator('.lanes path.lane')
      .evaluateAll((paths) => paths.map((path) => path.getAttribute('d') ?? '').filter((d) => d.includes('C')));
    expect(fork).toHaveLength(1);
  });

  it('puts the details beside the list when there is room, else below, and leaves nothing outside', async () => {
    const shown = await showAfternoon({ width: 1100 });
    const { page } = shown;
    await row(shown, shown.named.id).click();
    const box = async (selector: string) =>
      (await page.locator(selector).boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    expect((await box('timeline-detail')).x).toBeGreaterThan(400);
    for (const width of [170, 200, 320, 600]) {
      await page.setViewportSize({ width, height: 700 });
      await expect.poll(async () => (await box('timeline-detail')).x).toBe(0);
      const wider = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
      expect(wider, `at ${width}`).toBe(false);
      const times = await page
        .locator('.row .time')
        .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().right));
      expect(Math.max(...times), `at ${width}`).toBeLessThanOrEqual(width);
    }
  });

  it('shows texts of strangers as text', async () => {
    const evil = '<img src=x onerror="document.title=1"><style>*{display:none}</style>${7*7}';
    const shown = await show(
      new FixtureBackend([record(now - 1000, 'manual', evil, { name: evil, description: evil })]),
    );
    expect(await selectedTitle(shown)).toBe(evil);
    expect(await shown.page.locator('.description').innerText()).toBe(evil);
    expect(await shown.page.locator('.list img').count()).toBe(0);
  });

  it('moves nothing when motion is reduced', async () => {
    const shown = await showAfternoon();
    const longest = await shown.page.evaluate(() =>
      Math.max(
        ...document.getAnimations().map((animation) => Number(animation.effect?.getComputedTiming().duration ?? 0)),
        0,
      ),
    );
    expect(longest).toBe(0);
    const delays = await shown.page.evaluate(() =>
      [...document.querySelectorAll('*')]
        .map((one) => getComputedStyle(one).transitionDuration)
        .filter((s) => s !== '0s'),
    );
    expect(delays).toEqual([]);
  });

  it('tells at the end of a turn what all of it changed', async () => {
    const shown = await showAfternoon();
    const { page } = shown;
    const end = page
      .locator('.row:has(.counts)', { hasText: 'After turn' })
      .filter({ hasText: / files/ })
      .first();
    await end.click();
    await page.locator('#files-heading', { hasText: 'Changed in this turn' }).waitFor();
    const counted = (await end.locator('.counts').innerText()).trim();
    expect(await page.locator('#files-heading .block-note').innerText()).toContain(counted);
    expect(await page.locator('.files .file-open').first().getAttribute('title')).toContain('since the prompt');
    expect(await page.locator('.facet', { hasText: 'Files' }).innerText()).toContain(
      counted.replace(/ files?/, ' changed'),
    );
  });

  it('tells at a prompt what its turn changed, and leads back to before it', async () => {
    const shown = await showAfternoon();
    const { page, checkpoints } = shown;
    const end = checkpoints.findLast(({ trigger }) => trigger === 'idle');
    const prompt = checkpoints.findLast(
      ({ trigger, turn, session }) =>
        trigger === 'turn' && session?.id === end?.session?.id && turn?.number === end?.turn?.number,
    );
    if (!prompt) throw new Error('no prompt');
    await row(shown, prompt.id).click();
    await page.locator('#turn-files-heading', { hasText: /Changed in this turn\s+\d+ files?/ }).waitFor();
    const file = page.locator('section:has(#turn-files-heading) .file').first();
    expect(await file.locator('.file-open').getAttribute('title')).toContain('since the prompt');
    await file.locator('.file-open').click();
    await file.hover();
    await file.getByLabel('Restore this file as before the prompt').click();
    expect(await acted(shown, 2)).toMatchObject([
      { type: 'openDiff', id: prompt.id, against: 'turn' },
      { type: 'restore', id: prompt.id, scope: ['files'] },
    ]);
  });

  it('stays small', async () => {
    expect((await stat(join(timeline.folder(), 'timeline.js'))).size).toBeLessThan(150 * 1024);
  });
});

describe('keyboard', () => {
  it('moves, opens, closes and keeps the active row known to screen readers', async () => {
    const shown = await showAfternoon();
    const { page } = shown;
    await page.locator('.list').focus();
    await page.keyboard.press('Home');
    expect(await selectedTitle(shown)).toBe('Write the pull request description.');
    await page.keyboard.press('ArrowDown');
    expect(await selectedTitle(shown)).toBe('Ready for review');
    for (let i = 0; i < 3; i++) await page.keyboard.press('ArrowDown');
    expect(await selectedTitle(shown)).toBe('4 tool calls');
    const active = (): Promise<string | null> =>
      page.locator('.list').evaluate((list) => {
        const id = list.getAttribute('aria-activedescendant');
        return id === null ? null : (document.getElementById(id)?.getAttribute('aria-expanded') ?? 'no fold');
      });
    expect(await active()).toBe('false');
    await page.keyboard.press('ArrowRight');
    expect(await active()).toBe('true');
    await page.keyboard.press('ArrowRight');
    expect(await selectedTitle(shown)).toBe('edit server/cookies.ts');
    expect(await active()).toBe('no fold');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowLeft');
    expect(await selectedTitle(shown)).toBe('4 tool calls');
    await page.keyboard.press('ArrowLeft');
    expect(await active()).toBe('false');
    await page.keyboard.press('End');
    expect(await selectedTitle(shown)).toBe('Before touching anything');
    await page.keyboard.press('PageUp');
    expect(await selectedTitle(shown)).not.toBe('Before touching anything');
    await page.keyboard.press('Control+ArrowUp');
    expect(await selectedTitle(shown)).toBe('Write the pull request description.');
    expect(await page.locator('.list').evaluate((list) => list.scrollTop)).toBe(0);
  });

  it('acts: details, compare, rename, copy, delete', async () => {
    const shown = await showAfternoon({ width: 500 });
    const { page, named } = shown;
    await row(shown, named.id).click();
    await page.getByLabel('Close Details').click();
    await page.locator('timeline-detail').waitFor({ state: 'detached' });
    await page.getByLabel('Show Details').click();
    await page.getByLabel('Close Details').click();
    await page.keyboard.press('Enter');
    await page.waitForSelector('.detail:focus');
    await page.keyboard.press('Escape');
    expect(await page.locator('.list').evaluate((list) => list === document.activeElement)).toBe(true);
    for (const key of ['Control+Enter', 'F2', 'Control+c', 'Delete']) await page.keyboard.press(key);
    expect(await acted(shown, 4)).toEqual([
      { type: 'compareWorking', id: named.id },
      { type: 'rename', id: named.id },
      { type: 'copyId', id: named.id },
      { type: 'delete', ids: [named.id] },
    ]);
  });

  it('opens the menu, walks it, runs it, and gives the focus back', async () => {
    const shown = await showAfternoon();
    const { page, named } = shown;
    await row(shown, named.id).click();
    await page.keyboard.press('Shift+F10');
    await page.waitForSelector('.menu-item:focus');
    const focused = (): Promise<string> => page.locator('.menu-item:focus .menu-label').innerText();
    expect(await focused()).toBe('Restore Checkpoint…');
    await page.keyboard.press('ArrowUp');
    expect(await focused()).toBe('Delete');
    await page.keyboard.press('c');
    expect(await focused()).toBe('Compare with Working Files');
    await page.keyboard.press('c');
    expect(await focused()).toBe('Compare with Previous');
    await page.keyboard.press('Enter');
    expect(await acted(shown)).toEqual([{ type: 'comparePrevious', id: named.id }]);
    await page.waitForSelector('.list:focus');
    await page.keyboard.press('ContextMenu');
    await page.waitForSelector('.menu');
    await page.keyboard.press('Escape');
    await page.waitForSelector('.list:focus');
    expect(shown.backend.actions).toEqual([]);
  });

  it('has a menu for folded tool calls, too, by mouse and by key', async () => {
    const shown = await showAfternoon();
    const { page } = shown;
    const fold = page.locator('.row.fold').first();
    await fold.click({ button: 'right' });
    await page.waitForSelector('.menu-item:focus');
    const labels = page.locator('.menu-label');
    expect(await labels.allInnerTexts()).toEqual(
      expect.arrayContaining(['Expand', 'Show Changes of This Turn', 'Revert This Turn']),
    );
    expect(await violations(shown)).toEqual([]);
    await page.keyboard.press('Enter');
    await page.locator('.row.fold[aria-expanded="true"]').first().waitFor();
    await page.keyboard.press('Shift+F10');
    await labels.filter({ hasText: 'Collapse' }).waitFor();
    await labels.filter({ hasText: 'Show Changes of This Turn' }).click();
    expect(await acted(shown)).toEqual([{ type: 'compareTurn', id: expect.stringMatching(/^cp_/) as string }]);
  });

  it('resizes the details by arrow keys and remembers', async () => {
    const shown = await showAfternoon();
    const { page } = shown;
    const width = async (): Promise<number> => (await page.locator('timeline-detail').boundingBox())?.width ?? 0;
    const before = await width();
    await page.locator('.sash').focus();
    await page.keyboard.press('ArrowLeft');
    await expect.poll(width).toBe(before + 24);
    await page.waitForTimeout(250);
    await page.reload();
    await page.waitForSelector('.detail-head');
    await expect.poll(width).toBe(before + 24);
  });
});

describe('mouse', () => {
  it('selects, compares by double click, restores and compares by the buttons of a row', async () => {
    const shown = await showAfternoon();
    const { page, named, unblocked } = shown;
    await row(shown, named.id).click();
    await page.getByText('All 214 tests pass').waitFor();
    expect(await row(shown, named.id).getAttribute('aria-selected')).toBe('true');
    await row(shown, unblocked.id).dblclick({ position: { x: 150, y: 10 } });
    expect(await acted(shown)).toEqual([{ type: 'compareWorking', id: unblocked.id }]);
    await row(shown, named.id).hover();
    await row(shown, named.id).locator('button').last().click();
    expect(await acted(shown)).toEqual([{ type: 'restore', id: named.id }]);
  });

  it('marks two by Ctrl+click and compares them, older first', async () => {
    const shown = await showAfternoon();
    const { page, named, unblocked } = shown;
    await row(shown, unblocked.id).click();
    await row(shown, named.id).click({ modifiers: ['Control'] });
    expect(await page.locator('.row .mark-letter').allInnerTexts()).toEqual(['A', 'B']);
    expect(await said(shown).innerText()).toContain('Ready to compare');
    await page.getByText('Compare A with B').click();
    expect(await acted(shown)).toEqual([{ type: 'compare', from: named.id, to: unblocked.id }]);
    await page.locator('.list').focus();
    await page.keyboard.press('Escape');
    await page.locator('.compare-bar').waitFor({ state: 'detached' });
    await page.keyboard.press('Home');
    await page.keyboard.press(' ');
    await page.getByText('marks the second').waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press(' ');
    await page.keyboard.press('Enter');
    expect((await acted(shown)).map(({ type }) => type)).toEqual(['compare']);
  });

  it('shows a card after a while, and hides it on the way out', async () => {
    const shown = await showAfternoon();
    const { page, unblocked } = shown;
    await row(shown, unblocked.id).hover({ position: { x: 150, y: 10 } });
    await page.waitForSelector('.tooltip.placed');
    expect(await page.locator('.tooltip').innerText()).toContain('Blocked → Done');
    await page.mouse.move(1000, 600);
    await page.locator('.tooltip').waitFor({ state: 'detached' });
  });

  it('opens files, restores one, and shows them all', async () => {
    const shown = await showAfternoon();
    const { page, big } = shown;
    await row(shown, big.id).click();
    await page.waitForSelector('.file');
    expect(await page.locator('.file').count()).toBe(100);
    await page.getByText('Show 38 more').click();
    expect(await page.locator('.file').count()).toBe(138);
    await page.locator('.file-open').first().click();
    await page.locator('.file').first().hover();
    await page.getByLabel('Restore This File: src/auth/refresh-queue.ts').click();
    await page.getByLabel('Compare with Working File: src/auth/refresh-queue.ts').click();
    const path = 'src/auth/refresh-queue.ts';
    expect(await acted(shown, 3)).toEqual([
      { type: 'openDiff', id: big.id, path, against: 'previous' },
      { type: 'restore', id: big.id, scope: ['files'], paths: [path] },
      { type: 'openDiff', id: big.id, path, against: 'working' },
    ]);
  });
});

describe('filter', () => {
  it('completes, filters at once, and asks the host for what rows do not know', async () => {
    const shown = await showAfternoon();
    const { page } = shown;
    await page.locator('.list').focus();
    await page.keyboard.press('/');
    await page.keyboard.type('tr');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    expect(await page.locator('input').inputValue()).toBe('trigger:');
    await page.keyboard.type('ta');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Tab');
    expect(await page.locator('input').inputValue()).toBe('trigger:task ');
    expect(await page.locator('.row:not(.day) .title').allInnerTexts()).toHaveLength(3);
    expect(await said(shown).innerText()).toBe('3 of 60 checkpoints.');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.locator('input').fill('file:cookies');
    await expect.poll(() => page.locator('.filter-count').innerText()).toMatch(/^[1-9]\d* of 60$/);
    await page.locator('input').fill('AUTH-does-not-exist');
    await page.getByText('Nothing matches the filter').waitFor();
    await page.getByText('Clear Filter').click();
    await page.waitForSelector('.row.fold');
  });

  it('finds prompts that the titles cut off, and says what it does not understand', async () => {
    const shown = await showAfternoon();
    const { page } = shown;
    await page.locator('input').fill('decisions.md');
    await expect
      .poll(() => page.locator('.row .title').allInnerTexts())
      .toContain('Forget the rotation. Use an httpOnly cookie for the refresh token instead.');
    await page.locator('input').fill('before:whenever');
    await page.locator('.filter-problem').waitFor();
    expect(await page.locator('input').getAttribute('aria-invalid')).toBe('true');
  });
});

describe('ten thousand checkpoints', () => {
  it('are a few hundred elements, wherever one scrolls', async () => {
    const checkpoints = many(10_000);
    const shown = await show(new FixtureBackend(checkpoints));
    const { page } = shown;
    const elements = (): Promise<number> => page.evaluate(() => document.querySelectorAll('*').length);
    const atTop = await elements();
    expect(atTop).toBeLessThan(1200);
    await page.locator('.list').focus();
    await page.keyboard.press('End');
    await expect.poll(() => selectedTitle(shown)).toBe('Prompt 0: change module 0');
    const item = page.locator('.row.selected');
    expect(await item.getAttribute('aria-posinset')).toBe(await item.getAttribute('aria-setsize'));
    for (const top of [1000, 30_000, 77_777, 5]) {
      await page.locator('.list').evaluate((list, y) => (list.scrollTop = y), top);
      await page.waitForTimeout(50);
      expect(await elements()).toBeLessThan(1400);
      const holes = () =>
        page.evaluate(() => {
          const list = document.querySelector('.list')?.getBoundingClientRect() ?? new DOMRect();
          const rows = [...document.querySelectorAll('.list .row')].map((one) => one.getBoundingClientRect());
          const above = Math.min(...rows.map((one) => one.top)) - list.top;
          const below = list.bottom - Math.max(...rows.map((one) => one.bottom));
          return Math.max(0, Math.round(above), Math.round(below));
        });
      await expect.poll(holes, { message: `at ${top}` }).toBe(0);
    }
    /** All of them, comments too: of what was scrolled away nothing may be left. */
    const nodes = (): Promise<number> =>
      page.evaluate(() => document.evaluate('count(//node())', document, null, XPathResult.NUMBER_TYPE).numberValue);
    const jumpTo = async (top: number): Promise<void> => {
      await page.locator('.list').evaluate((list, y) => (list.scrollTop = y), top);
      await page.waitForTimeout(50);
    };
    await jumpTo(0);
    const before = await nodes();
    for (let round = 0; round < 10; round++) for (const top of [50_000, 0]) await jumpTo(top);
    expect(await nodes()).toBeLessThan(before + 100);
    await page.locator('input').fill('module 36');
    await expect.poll(() => page.locator('.filter-count').innerText()).toContain('of 10,000');
  });
});

describe('life', () => {
  it('is the same after a reload: filter, selection, marks, folds, place', async () => {
    const shown = await showAfternoon({ height: 300 });
    const { page, named } = shown;
    await page.locator('.row.fold').first().click();
    await page.locator('.list').evaluate((list) => (list.scrollTop = 500));
    await row(shown, named.id).click();
    await page.keyboard.press(' ');
    await page.waitForTimeout(300);
    const place = () =>
      page.evaluate((id) => {
        const top = document.querySelector(`[data-key="${id}"]`)?.getBoundingClientRect().top;
        const open = document.querySelectorAll('.row.nested').length;
        return { top, open, marks: document.querySelectorAll('.row.marked').length };
      }, named.id);
    const before = await place();
    await page.reload();
    await page.waitForSelector('.row.selected');
    await expect.poll(place).toEqual(before);
    expect(await selectedTitle(shown)).toBe(named.title);
    await page.locator('input').fill('trigger:manual');
    await page.waitForTimeout(300);
    await page.reload();
    await page.waitForSelector('.row');
    expect(await page.locator('input').inputValue()).toBe('trigger:manual');
    expect(await page.locator('.row.by-manual').count()).toBe(3);
  });

  it('takes in what is new by its difference, without moving what one reads', async () => {
    const data = afternoon();
    const backend = new FixtureBackend(data.checkpoints, data.changes);
    const shown = await show(backend, { height: 400 });
    const { page } = shown;
    const at = (id: string) => row(shown, id).evaluate((one) => Math.round(one.getBoundingClientRect().top));
    const add = (title: string): void => {
      backend.checkpoints = [...backend.checkpoints, record(now - 1000 + backend.checkpoints.length, 'manual', title)];
      backend.change();
    };
    add('Fresh at the top');
    await page.getByText('Fresh at the top').first().waitFor();
    expect(await said(shown).innerText()).toBe('New checkpoint: Fresh at the top');
    await page.locator('.list').evaluate((list) => (list.scrollTop = 400));
    await row(shown, data.named.id).click();
    const before = await at(data.named.id);
    add('Fresh above');
    await expect.poll(() => said(shown).innerText()).toBe('New checkpoint: Fresh above');
    expect(await at(data.named.id)).toBe(before);
    backend.checkpoints = backend.checkpoints.map((checkpoint) =>
      checkpoint.id === data.named.id
        ? {
            ...checkpoint,
            title: 'Another name',
            name: 'Another name',
            files: { ...checkpoint.files, commit: 'd'.repeat(40) },
          }
        : checkpoint,
    );
    backend.change();
    await page.locator('.detail h2').getByText('Another name').waitFor();
    expect(await selectedTitle(shown)).toBe('Another name');
    const known = shown.sent.flatMap((message) => {
      const { method, params } = message as { method?: string; params?: { known: unknown } };
      return method === 'timeline' ? [params?.known] : [];
    });
    expect(known).toEqual([null, 1, 2, 3]);
  });

  it('goes where another view points, through folds and filters', async () => {
    const shown = await showAfternoon({ height: 300 });
    const { page, checkpoints, connection } = shown;
    const hidden = checkpoints.find(({ trigger, session }) => trigger === 'tool' && session?.id === 'ses_tests');
    await page.locator('input').fill('trigger:manual');
    connection.reveal('w1', hidden?.id ?? '');
    await expect.poll(() => selectedTitle(shown)).toBe(hidden?.title);
    expect(await page.locator('input').inputValue()).toBe('');
    expect(await row(shown, hidden?.id ?? '').isVisible()).toBe(true);
  });

  it('leads to the trust that a folder lacks', async () => {
    const backend = new FixtureBackend([]);
    backend.fail = Object.assign(new Error('not trusted'), { reason: 'untrusted-folder' });
    const shown = await show(backend);
    const { page } = shown;
    await page.getByText('This folder is not trusted').waitFor();
    expect(await page.getByText('Retry').count()).toBe(0);
    expect(await violations(shown)).toEqual([]);
    await page.getByText('Manage Workspace Trust').click();
    expect(await acted(shown)).toEqual([{ type: 'notice', action: 'manageTrust' }]);
  });

  it('says why there is nothing, and tries again', async () => {
    const backend = new FixtureBackend([]);
    backend.fail = Object.assign(new Error('git was not found.'), { reason: 'git-missing' });
    const shown = await show(backend);
    const { page } = shown;
    await page.getByText('git was not found.').first().waitFor();
    backend.fail = null;
    await page.getByText('Retry').click();
    await page.getByText('No checkpoints yet').waitFor();
    await page.getByText('Create Checkpoint', { exact: true }).last().click();
    expect(await acted(shown)).toEqual([{ type: 'create' }]);
    backend.checkpoints = afternoon().checkpoints;
    backend.change();
    await page.waitForSelector('.row');
    // The button of the tool bar has the same name, and does the same.
    await page.getByLabel('Create Checkpoint', { exact: true }).click();
    expect(await acted(shown)).toEqual([{ type: 'create' }]);
    backend.fail = new Error('The disk is full.');
    backend.change();
    await page.getByText('Not up to date: The disk is full.').waitFor();
    expect(await page.locator('.row').count()).toBeGreaterThan(10);
  });

  it('waits with a picture of what comes, and shows what is under way', async () => {
    const data = afternoon();
    const backend = new FixtureBackend(data.checkpoints, data.changes);
    let release = (): void => undefined;
    backend.gate = new Promise((resolve) => (release = resolve));
    backend.operation = { title: 'Restoring 14 files…' };
    backend.notices = [
      {
        level: 'warning',
        text: 'The plugin is not installed: points may be late.',
        action: { id: 'installPlugin', label: 'Install' },
      },
    ];
    const open = await timeline.open(backend);
    await open.page.getByRole('status', { name: 'Loading checkpoints' }).waitFor();
    release();
    await open.page.getByText('Restoring 14 files…').waitFor();
    await open.page.getByText('Install', { exact: true }).click();
    await expect.poll(() => backend.actions).toEqual([{ type: 'notice', action: 'installPlugin' }]);
  });

  it('has a place for no folder and for several', async () => {
    const backend = new FixtureBackend([]);
    backend.workspace = null;
    backend.workspaces = [];
    const shown = await show(backend);
    await shown.page.getByText('Open Folder').click();
    expect((await acted(shown)).map(({ type }) => type)).toEqual(['openFolder']);
    backend.workspaces = [
      { id: 'w1', name: 'shop' },
      { id: 'w2', name: 'server' },
    ];
    backend.workspace = 'w1';
    backend.checkpoints = afternoon().checkpoints;
    backend.change();
    const select = shown.page.getByLabel('Folder');
    await select.waitFor();
    backend.workspace = 'w2';
    await select.selectOption('w2');
    await expect.poll(() => backend.asked.at(-1)).toBe('w2');
    expect(await violations(shown)).toEqual([]);
  });
});
