import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { VsCodeSession } from '../rig/vscode-session';
import { playAfternoon, project } from './afternoon';

const view = 'Checkpoints';
const plan = 'Restore Plan';

/** Going back, changing one's mind: by somebody who has no mouse. */
describe('the keyboard alone', () => {
  let session: VsCodeSession;

  beforeAll(async () => {
    session = await VsCodeSession.start({ files: project });
    await playAfternoon(session);
    await session.workbench.openContainer(view);
    await session.workbench.row(view, 'Now rename describe').waitFor();
  });
  afterAll(() => session?.stop());
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail')
      await session.workbench.screenshot(`failed-keyboard-${task.name.replace(/\W+/g, '-')}`);
  });

  const press = (key: string): Promise<void> => session.workbench.page.keyboard.press(key);
  /** The name of the view, or the button, that gets the next key. */
  const focused = (): Promise<string> =>
    session.workbench.page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? '');
  const focusedRow = (title: string): Promise<string> =>
    session.workbench.view(title).locator('.monaco-list-row.focused').first().innerText({ timeout: 2000 });
  const moveTo = async (title: string, text: string): Promise<void> => {
    for (let row = 0; row < 10; row += 1) {
      await press('ArrowDown');
      if ((await focusedRow(title)).includes(text)) return;
    }
    throw new Error(`no row ${text} in ${title}`);
  };

  it('leads from a row of the tree to its restore plan', async () => {
    const { workbench } = session;
    await workbench.command('Checkpoints: Focus on Checkpoints View');
    await expect.poll(focused).toBe(view);
    await moveTo(view, 'Now rename describe');
    await press('Shift+F10');
    await workbench.page.locator('.monaco-menu .action-item', { hasText: 'Restore Checkpoint…' }).waitFor();
    await press('ArrowDown');
    await press('Enter');
    expect(await workbench.modalText()).toContain('2 files will be written.');
    await press('Tab');
    await workbench.modal.locator('.monaco-button:focus', { hasText: 'Choose…' }).waitFor();
    await press('Enter');
    await workbench.quickRows.filter({ hasText: 'Conversation' }).waitFor();
    await press('Enter');
    await workbench.row(plan, 'cart.ts').waitFor();
    await expect.poll(focused).toBe(plan);
  });

  it('unticks a file and stays in the plan', async () => {
    const { workbench } = session;
    await moveTo(plan, 'cart.ts');
    await press('Tab');
    await press('Space');
    await workbench.view(plan).getByText('1 of 2 files').waitFor();
    // No half tick in VS Code: the folder says in words that something below it will be restored.
    await workbench.row(plan, /^src\s*1 of 2/).waitFor();
    await expect.poll(focused).toBe(plan);
    await workbench.screenshot('keyboard-1-plan');
  });

  it('restores, and is in the tree again', async () => {
    const { workbench } = session;
    await press('Shift+Tab');
    await expect.poll(focused).toBe('Restore Ticked Files');
    await press('Enter');
    await workbench.notification('Restored: 1 file written.').waitFor();
    await expect.poll(focused).toBe(view);
    expect(session.exists('src/checkout/pay.ts')).toBe(true);
    expect(await session.read('src/cart.ts')).toContain('label');
    await workbench.command('Checkpoints: Undo Last Restore');
    await workbench.notification('Undone: 1 file deleted.').waitFor();
    expect(session.exists('src/checkout/pay.ts')).toBe(false);
  });

  it('ticks a step of the task that was just added, and stays there', async () => {
    const { workbench } = session;
    const add = async (field: RegExp, text: string): Promise<void> => {
      await workbench.command('Checkpoints: Edit Task State');
      await workbench.pick(field);
      await workbench.answer(text);
    };
    await workbench.openView('Task');
    // Room for all of its rows.
    await workbench.view(view).locator('.pane-header .title').click();
    await add(/Title/, 'Discounts');
    await workbench.row('Task', /^Next Steps\s*none/).waitFor();
    await add(/Next Steps/, 'Measure it');
    // The list had nothing to open before: it must not stay closed over its first row.
    await workbench.row('Task', 'Measure it').locator('.monaco-checkbox').focus();
    await press('Space');
    await workbench.row('Task', /^Completed Steps\s*1/).waitFor();
    await expect.poll(focused).toBe('Task');
  });
});
