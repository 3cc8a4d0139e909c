import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { afternoon, now, record } from './timeline/fixtures';
import { FixtureBackend, type OpenPage } from './timeline/harness';
import { timelineTests } from './timeline/hooks';

/** Whoever works by keyboard is always somewhere, also when what had the focus went away. */
const timeline = timelineTests();
const { showAfternoon } = timeline;

const row = ({ page }: OpenPage, id: string): Locator => page.locator(`[data-key="${id}"]`);

async function press({ page }: OpenPage, button: Locator): Promise<void> {
  await button.focus();
  await page.keyboard.press('Enter');
}

const focused = ({ page }: OpenPage): Promise<string> =>
  page.evaluate(() => document.activeElement?.className || document.activeElement?.tagName || '');

describe('focus', () => {
  it('goes to the list when it comes before it, and no suggestions open over the rows', async () => {
    const data = afternoon();
    const backend = new FixtureBackend(data.checkpoints, data.changes);
    const shown = await timeline.open(backend, {});
    const { page } = shown;
    // VS Code gives it to the frame as soon as there is one.
    await page.evaluate(() => window.dispatchEvent(new FocusEvent('focus')));
    await page.waitForSelector('.row');
    await expect.poll(() => focused(shown)).toBe('list');
    expect(await page.locator('.suggestions, [role=listbox]').filter({ visible: true }).count()).toBe(0);
  });

  it('goes to the list when a button of its states or of the comparison is gone', async () => {
    const shown = await showAfternoon();
    const { page } = shown;
    await page.locator('input').fill('no such thing at all');
    await press(shown, page.locator('vscode-button', { hasText: 'Clear Filter' }));
    await expect.poll(() => focused(shown)).toBe('list');
    await page.keyboard.press('Home');
    await page.keyboard.press(' ');
    await press(shown, page.getByLabel('Clear Marks'));
    await page.locator('.compare-bar').waitFor({ state: 'detached' });
    await expect.poll(() => focused(shown)).toBe('list');
    await page.getByLabel('Close Details').click();
    await press(shown, page.getByLabel('Show Details'));
    await page.waitForSelector('.detail');
    await expect.poll(() => focused(shown)).toBe('list');
  });

  it('stays in the details when a button there is gone', async () => {
    const shown = await showAfternoon();
    const { page, big } = shown;
    await row(shown, big.id).click();
    await press(shown, page.getByText('Show 38 more'));
    await expect.poll(() => page.locator('.file').count()).toBe(138);
    await expect.poll(() => focused(shown)).toBe('detail');
    await page.locator('.row.fold').first().click();
    await press(shown, page.locator('.fold-entry').first());
    await page.waitForSelector('.facets');
    await expect.poll(() => focused(shown)).toBe('detail');
  });

  it('goes to the filter when there is no list any more', async () => {
    const shown = await showAfternoon();
    const { page, backend } = shown;
    await page.locator('.list').focus();
    backend.checkpoints = [];
    backend.change();
    await page.getByText('No checkpoints yet').waitFor();
    await expect.poll(() => focused(shown)).toBe('INPUT');
  });

  it('has a frame on the list while no row in sight is selected, and then on that row', async () => {
    const shown = await showAfternoon({ width: 300, placement: 'view' });
    const { page } = shown;
    const framed = (selector: string): Promise<string> =>
      page.locator(selector).evaluate((one) => getComputedStyle(one).outlineStyle);
    await page.getByLabel('Legend and Keys').focus();
    await page.keyboard.press('Tab');
    await expect.poll(() => focused(shown)).toBe('list');
    expect(await framed('.list')).toBe('solid');
    await page.keyboard.press('ArrowDown');
    await page.waitForSelector('.row.selected');
    expect([await framed('.list'), await framed('.row.selected')]).toEqual(['none', 'solid']);
  });

  it('has a frame around all of the details, also above what is scrolled', async () => {
    const { page, unblocked } = await showAfternoon({ height: 420 });
    await page.locator(`[data-key="${unblocked.id}"]`).click();
    await page.waitForSelector('.task-changes');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.detail:focus');
    const frame = await page.locator('timeline-detail').evaluate((detail) => {
      const { borderTopStyle, zIndex } = getComputedStyle(detail, '::after');
      const head = detail.querySelector('.detail-head');
      return { borderTopStyle, above: Number(zIndex) > Number(head ? getComputedStyle(head).zIndex : NaN) };
    });
    expect(frame).toEqual({ borderTopStyle: 'solid', above: true });
  });

  it('can be seen in a menu where the system has its own colours', async () => {
    const shown = await showAfternoon({ theme: 'hc-black' });
    const { page } = shown;
    await page.emulateMedia({ forcedColors: 'active' });
    await page.locator('.row.by-turn').first().click({ button: 'right' });
    await page.waitForSelector('.menu-item:focus');
    const looks = await page
      .locator('.menu-item')
      .evaluateAll((all) =>
        all.map((one) => [getComputedStyle(one).backgroundColor, getComputedStyle(one).borderColor]),
      );
    const [first, ...others] = looks;
    expect(new Set(others.map(String)).size).toBe(1);
    expect(first?.[0]).not.toBe(others[0]?.[0]);
  });

  it('is not touched while new checkpoints come', async () => {
    const shown = await showAfternoon();
    const { page, backend, big } = shown;
    await row(shown, big.id).click();
    await page.locator('.file-open').nth(3).focus();
    backend.checkpoints = [...backend.checkpoints, record(now - 1000, 'manual', 'Just now')];
    backend.change();
    await page.locator('.row .title', { hasText: 'Just now' }).waitFor();
    expect(await focused(shown)).toBe('file-open');
  });
});

describe('screen readers', () => {
  it('hear a row’s title and what else it shows as a list, without the letters of icon fonts', async () => {
    const shown = await showAfternoon();
    const { page, unblocked } = shown;
    await row(shown, unblocked.id).click();
    await page.waitForSelector('.task-list li.new');
    const heard = (await page.locator('body').ariaSnapshot()).split('\n').map((line) => line.trim());
    expect(
      heard.filter((line) => /treeitem "Done: refresh by cookie ?, Task saved, Login with/.test(line)),
    ).toHaveLength(1);
    expect(heard.filter((line) => /treeitem "4 tool calls ?, of turn 4/.test(line))).toHaveLength(1);
    expect(heard).toContain('- listitem: Cover the race in a test (new)');
    expect(heard.filter((line) => line.includes('button "Open Session: Login with cookies'))).toHaveLength(1);
  });

  it('are not told of each call of an agent at work', async () => {
    const shown = await showAfternoon();
    const { page, backend } = shown;
    const come = async (trigger: 'tool' | 'manual', title: string): Promise<void> => {
      backend.checkpoints = [...backend.checkpoints, record(now - 1000 + backend.checkpoints.length, trigger, title)];
      backend.change();
      await page.locator('.row .title', { hasText: title }).waitFor();
    };
    const said = (): Promise<string> => page.locator('.live').innerText();
    await come('manual', 'By hand');
    expect(await said()).toBe('New checkpoint: By hand');
    await come('tool', 'edit one.ts');
    expect(await said()).toBe('New checkpoint: By hand');
  });
});

describe('details', () => {
  it('are fetched again when the one they are compared with is deleted', async () => {
    const shown = await showAfternoon();
    const { page, backend, unblocked } = shown;
    await row(shown, unblocked.id).click();
    await page.waitForSelector('.facets');
    const asked = (): number =>
      shown.sent.filter((message) => (message as { method?: string }).method === 'details').length;
    const before = asked();
    const index = backend.checkpoints.indexOf(unblocked);
    backend.checkpoints = backend.checkpoints.filter((_, at) => at !== index - 1);
    backend.change();
    await expect.poll(asked).toBe(before + 1);
  });
});
