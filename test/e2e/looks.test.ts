import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { VsCodeSession } from '../rig/vscode-session';
import { playAfternoon, project } from './afternoon';

const view = 'Checkpoints';

/** The same screens in every kind of theme and in a narrow window; a person looks at the pictures. */
describe.each([
  ['dark', 'Default Dark Modern', { width: 1400, height: 900 }],
  ['light', 'Default Light Modern', { width: 1400, height: 900 }],
  ['contrast', 'Default High Contrast', { width: 1400, height: 900 }],
  ['narrow', 'Default Dark Modern', { width: 620, height: 800 }],
])('looks: %s', (name, theme, size) => {
  let session: VsCodeSession;

  beforeAll(async () => {
    session = await VsCodeSession.start({ files: project, size, settings: { 'workbench.colorTheme': theme } });
    await playAfternoon(session);
  });
  afterAll(() => session?.stop());

  it('session, turn, checkpoint, file', async () => {
    const { workbench } = session;
    await workbench.openContainer(view);
    await workbench.expand(view, /^Add discounts to the cart\s*(now|1 min)/);
    await workbench.row(view, 'Tests are green').waitFor();
    const texts = await workbench.rowTexts(view);
    const order = [
      'Tests are green',
      'Add discounts to the cart (fork)',
      'Now rename describe',
      'Add a discount to total',
    ];
    expect(order.map((label) => texts.findIndex((text) => text.startsWith(label)))).toEqual([1, 2, 3, 4]);
    await workbench.expand(view, 'Now rename describe');
    await workbench.expand(view, 'After the turn');
    await workbench.row(view, 'pay.ts').waitFor();
    await workbench.screenshot(`looks-${name}-1-tree`);
  });

  it('what a turn is about', async () => {
    const { workbench } = session;
    await workbench.row(view, 'Add a discount to total').hover();
    await workbench.page.locator('.monaco-hover:visible', { hasText: 'claude-sonnet' }).waitFor();
    await workbench.screenshot(`looks-${name}-2-tooltip`);
    await workbench.page.keyboard.press('Escape');
  });

  it('everything that changed since', async () => {
    const { workbench } = session;
    await workbench.contextMenu(workbench.row(view, 'Add a discount to total'), 'Compare with Working Files');
    await workbench.tab(/Working Files/).waitFor();
    await workbench.page.locator('.monaco-diff-editor .view-line').first().waitFor();
    await workbench.screenshot(`looks-${name}-3-changes`);
  });

  it('choosing single files to restore', async () => {
    const { workbench } = session;
    await workbench.rowAction(view, 'Add a discount to total', 'Restore Checkpoint');
    const text = await workbench.modalText();
    expect(text).toMatch(/2 files will be written\.\s+1 file made since then will be deleted\./);
    await workbench.screenshot(`looks-${name}-4-restore`);
    await workbench.modalClick('Choose…');
    await workbench.quickRows.filter({ hasText: 'Conversation' }).waitFor();
    await workbench.screenshot(`looks-${name}-5-facets`);
    await workbench.confirmPick();
    await workbench.row('Restore Plan', 'pay.ts').waitFor();
    await workbench.row('Restore Plan', 'cart.test.ts').locator('.monaco-checkbox').click();
    await workbench.view('Restore Plan').getByText('2 of 3 files').waitFor();
    await workbench.screenshot(`looks-${name}-6-plan`);
    await workbench.view('Restore Plan').hover();
    await workbench.view('Restore Plan').locator('.action-label[aria-label^="Restore Ticked Files"]').click();
    await workbench.notification('Restored: 2 files written.').waitFor();
    expect(session.exists('test/cart.test.ts')).toBe(true);
    expect(session.exists('src/checkout/pay.ts')).toBe(true);
    await workbench.screenshot(`looks-${name}-7-restored`);
  });
});
