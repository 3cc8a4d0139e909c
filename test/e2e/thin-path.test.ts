import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { VsCodeSession } from '../rig/vscode-session';

const view = 'Checkpoints';
const app =
  Array.from({ length: 12 }, (_, index) => `export const value${index + 1} = ${index + 1};`).join('\n') + '\n';

/** A machine without OpenCode, whatever this one has. */
const path = (process.env['PATH'] ?? '')
  .split(delimiter)
  .filter((folder) => !existsSync(join(folder, 'opencode')))
  .join(delimiter);

/** One path from end to end, clicked as a person does, on the package that a user installs. */
describe('thin path', () => {
  let session: VsCodeSession;

  beforeAll(async () => {
    session = await VsCodeSession.start({
      files: { 'README.md': '# Shop\n', 'src/app.ts': app, 'src/cart/total.ts': 'export const total = 0;\n' },
      env: { PATH: path },
    });
  });
  afterAll(() => session?.stop());
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') await session.workbench.screenshot(`failed-${task.name.replace(/\W+/g, '-')}`);
  });

  it('takes the plugin before there is an OpenCode, and says then that it waits for it', async () => {
    const { workbench } = session;
    await workbench.openContainer(view);
    const pane = workbench.view(view);
    await pane.getByText('OpenCode was not found on this machine').waitFor();
    await pane.getByRole('button', { name: 'Install OpenCode Plugin' }).click();
    await workbench.pick(/All My Projects/);
    await pane.getByText('The plugin is installed: once OpenCode is there').waitFor();
    await pane.getByRole('button', { name: 'Install OpenCode Plugin' }).waitFor({ state: 'detached' });
    await workbench.screenshot('thin-0-plugin-waits');
    await workbench.dismissNotifications();
  });

  it('welcomes with one button when there is nothing yet', async () => {
    const { workbench } = session;
    await workbench.openContainer(view);
    const button = workbench.view(view).getByRole('button', { name: 'Create Checkpoint' });
    await button.last().waitFor();
    await workbench.screenshot('thin-1-welcome');
    await button.last().click();
    await workbench.row(view, 'Manual checkpoint').waitFor();
    expect(await workbench.rowTexts(view)).toHaveLength(1);
  });

  it('creates by the palette and shows the changed files', async () => {
    const { workbench } = session;
    await session.write('src/app.ts', app.replace('value3 = 3', 'value3 = 33'));
    await session.write('src/cart/discount.ts', 'export const discount = 0.1;\n');
    await session.remove('README.md');
    await workbench.command('Checkpoints: Create Checkpoint');
    await workbench.row(view, '+1 ~1 −1').waitFor();
    await workbench.expand(view, '+1 ~1 −1');
    await workbench.row(view, 'discount.ts').waitFor();
    const texts = await workbench.rowTexts(view);
    expect(texts.filter((text) => /discount\.ts|app\.ts|README\.md/.test(text))).toHaveLength(3);
    await workbench.screenshot('thin-2-tree');
  });

  it('opens the diff of a file, the checkpoint left and the real file right', async () => {
    const { workbench } = session;
    await session.write('src/app.ts', app.replace('value3 = 3', 'value3 = 3000'));
    await workbench.row(view, 'app.ts').click();
    await workbench.tab(/app\.ts \(Manual checkpoint ↔ Working File\)/).waitFor();
    await expect.poll(() => workbench.diffText('original')).toContain('value3 = 33;');
    await expect.poll(() => workbench.diffText('modified')).toContain('value3 = 3000;');
    await workbench.screenshot('thin-3-diff');
  });

  it('previews a restore and does nothing when it is cancelled', async () => {
    const { workbench } = session;
    await workbench.rowAction(view, '+1 ~1 −1', 'Restore Checkpoint');
    const text = await workbench.modalText();
    expect(text).toContain('Restore “Manual checkpoint”?');
    expect(text).toContain('1 file will be written.');
    await workbench.screenshot('thin-4-preview');
    await workbench.modalClick('Cancel');
    expect(await session.read('src/app.ts')).toContain('value3 = 3000');
  });

  it('restores after a safety checkpoint, and says what it did', async () => {
    const { workbench } = session;
    await workbench.command('Checkpoints: Restore Checkpoint…');
    await workbench.quickRows.first().waitFor();
    await workbench.screenshot('thin-5-pick');
    // The newest is the one with three changes.
    await workbench.quickRows.first().click();
    await workbench.modalClick('Restore');
    await workbench.notification('Restored: 1 file written.').waitFor();
    await workbench.row(view, 'Before restoring').waitFor();
    await workbench.screenshot('thin-6-restored');
    expect(await session.read('src/app.ts')).toContain('value3 = 33;');
  });

  it('undoes by the button of the message', async () => {
    const { workbench } = session;
    await workbench.notificationClick('Restored: 1 file written.', 'Undo');
    await workbench.notification('Undone: 1 file written.').waitFor();
    await workbench.screenshot('thin-7-undone');
    expect(await session.read('src/app.ts')).toContain('value3 = 3000;');
  });

  it('asks about unsaved changes and never overwrites them silently', async () => {
    const { workbench } = session;
    await workbench.command('Notifications: Clear All Notifications');
    await workbench.diff.locator('.editor.modified .view-line').first().click();
    await workbench.page.keyboard.press('Home');
    await workbench.page.keyboard.type('// mine ');
    await workbench.rowAction(view, '+1 ~1 −1', 'Restore Checkpoint');
    await workbench.modalClick('Restore');
    expect(await workbench.modalText()).toContain('1 file with unsaved changes would be overwritten.');
    await workbench.screenshot('thin-8-unsaved');
    await workbench.modalClick('Leave It Out');
    await workbench.notification('Nothing was restored').waitFor();
    expect(await workbench.diffText('modified')).toContain('// mine');
    expect(await session.read('src/app.ts')).toContain('value3 = 3000;');
  });
});
