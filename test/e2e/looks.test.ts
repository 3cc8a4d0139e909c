import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { VsCodeSession } from '../rig/vscode-session';
import { playAfternoon, project } from './afternoon';

const view = 'Checkpoints';
const turn = 'Add a discount to';
const wide = { width: 1400, height: 900 };

/** The same screens in every kind of theme and in a narrow window; a person looks at the pictures. */
describe('looks', () => {
  let session: VsCodeSession;

  beforeAll(async () => {
    session = await VsCodeSession.start({ files: project, size: wide });
    await playAfternoon(session);
  });
  afterAll(() => session?.stop());
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') await session.workbench.screenshot(`failed-looks-${task.name}`);
  });

  it('shows sessions with their kept points, forks and turns, newest first', async () => {
    const { workbench } = session;
    await workbench.openContainer(view);
    await workbench.expand(view, /^Add discounts to the cart\s*(now|\d)/);
    await workbench.row(view, 'Tests are green').waitFor();
    const texts = await workbench.rowTexts(view);
    const order = ['Tests are green', 'Add discounts to the cart (fork)', 'Now rename describe', turn];
    expect(order.map((label) => texts.findIndex((text) => text.startsWith(label)))).toEqual([1, 2, 3, 4]);
    await workbench.expand(view, 'Now rename describe');
    await workbench.expand(view, 'After the turn');
    await workbench.row(view, 'pay.ts').waitFor();
  });

  it('tells on hover what a turn was about', async () => {
    const { workbench } = session;
    await workbench.tooltip(workbench.row(view, turn), 'claude-sonnet');
    await workbench.screenshot('looks-tooltip');
    await workbench.page.keyboard.press('Escape');
  });

  it('opens everything that changed since', async () => {
    const { workbench } = session;
    await workbench.contextMenu(workbench.row(view, turn), 'Compare with Working Files');
    await workbench.tab(/Working Files/).waitFor();
    await workbench.page.locator('.monaco-diff-editor .view-line').first().waitFor();
  });

  it.each([
    ['dark', 'Dark Modern', '.vs-dark', wide],
    ['light', 'Light Modern', '.vs', wide],
    ['contrast', 'Dark High Contrast', '.hc-black', wide],
    ['contrast-light', 'Light High Contrast', '.hc-light', wide],
    ['narrow', 'Dark Modern', '.vs-dark', { width: 620, height: 900 }],
  ])('%s', async (name, theme, mark, size) => {
    const { workbench } = session;
    await workbench.setTheme(theme);
    await workbench.page.setViewportSize(size);
    await workbench.page.locator(`.monaco-workbench${mark}`).waitFor();
    await workbench.screenshot(`looks-${name}-1-tree`);
    await workbench.rowAction(view, turn, 'Restore Checkpoint');
    const text = await workbench.modalText();
    expect(text).toMatch(/2 files will be written\.\s+1 file made since then will be deleted\./);
    await workbench.screenshot(`looks-${name}-2-restore`);
    await workbench.modalClick('Choose…');
    await workbench.quickRows.filter({ hasText: 'Conversation' }).waitFor();
    await workbench.screenshot(`looks-${name}-3-facets`);
    await workbench.confirmPick();
    await workbench.tick('Restore Plan', 'cart.test.ts', false);
    await workbench.view('Restore Plan').getByText('2 of 3 files').waitFor();
    await workbench.screenshot(`looks-${name}-4-plan`);
    await workbench.viewAction('Restore Plan', 'Cancel Restore');
    await workbench.view('Restore Plan').waitFor({ state: 'detached' });
  });

  it('restores exactly what is ticked', async () => {
    const { workbench } = session;
    await workbench.page.setViewportSize(wide);
    await workbench.rowAction(view, turn, 'Restore Checkpoint');
    await workbench.modalClick('Choose…');
    await workbench.confirmPick();
    await workbench.tick('Restore Plan', 'cart.test.ts', false);
    await workbench.view('Restore Plan').getByText('2 of 3 files').waitFor();
    await workbench.viewAction('Restore Plan', 'Restore Ticked Files');
    await workbench.notification('Restored: 2 files written.').waitFor();
    expect(session.exists('test/cart.test.ts')).toBe(true);
    expect(session.exists('src/checkout/pay.ts')).toBe(true);
    await workbench.screenshot('looks-restored');
  });

  it('offers the first version of each file that a session changed', async () => {
    const { workbench } = session;
    await workbench.contextMenu(workbench.row(view, /^Add discounts to the cart\s*(now|\d)/), 'Show First Versions…');
    await workbench.quickRows.filter({ hasText: 'src/cart.ts' }).waitFor();
    await workbench.screenshot('looks-first-versions');
    await workbench.quickRows.filter({ hasText: 'src/cart.ts' }).first().click();
    await workbench.tab(/cart\.ts/).waitFor();
    // Counted anew: nothing is deleted, and nothing was changed since.
    const rows = await workbench.rowTexts(view);
    await workbench.contextMenu(workbench.row(view, /^Add discounts to the cart\s*(now|\d)/), 'Show First Versions…');
    await workbench.quickRows.filter({ hasText: 'src/cart.ts' }).waitFor();
    await workbench.page.locator('.quick-input-titlebar [aria-label^="Count from Now On"]').click();
    await workbench.notification('First versions are counted from now on.').waitFor();
    await workbench.dismissNotifications();
    await workbench.contextMenu(workbench.row(view, /^Add discounts to the cart\s*(now|\d)/), 'Show First Versions…');
    await workbench.notification('No file has been changed by this session.').waitFor();
    expect((await workbench.rowTexts(view)).length).toBeGreaterThanOrEqual(rows.length);
  });
});
