import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { VsCodeSession } from '../rig/vscode-session';

const view = 'Checkpoints';
const config = '.opencode/checkpoints.json';

/** Whoever has switched automatic checkpoints off, or whose project has, must not rely on points that do not come. */
describe('a folder without automatic checkpoints', () => {
  let session: VsCodeSession;

  beforeAll(async () => {
    session = await VsCodeSession.start({
      files: { 'README.md': '# Off\n', [config]: '{"automatic":"off"}\n' },
      // Found, so that the view has no more to say of it.
      env: { OPENCODE_BIN: process.execPath },
    });
    await session.workbench.openContainer(view);
  });
  afterAll(() => session?.stop());
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail')
      await session.workbench.screenshot(`failed-off-${task.name.replace(/\W+/g, '-')}`);
  });

  it('says so while it is empty', async () => {
    const { workbench } = session;
    await workbench.view(view).getByText('Automatic checkpoints are switched off').waitFor();
    await workbench.view(view).getByText('Change the Setting').waitFor();
    await workbench.view(view).getByText('OpenCode makes them by itself').waitFor({ state: 'detached' });
    await workbench.screenshot('off-1-empty');
  });

  it('says so where the last checkpoint is told', async () => {
    const { workbench } = session;
    await workbench.command('Checkpoints: Create Checkpoint');
    await workbench.tooltip(workbench.statusItem(/^\s*(now|\dm)$/), 'Automatic checkpoints are off');
    await workbench.screenshot('off-2-status');
  });
});
