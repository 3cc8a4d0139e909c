import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig, storeHome } from '../../src/core/config';
import { workspaceFolder } from '../../src/git/roots';
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
      settings: { 'opencodeCheckpoints.exclude': ['*.secret'] },
    });
  });
  afterAll(() => session?.stop());
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail')
      await session.workbench.screenshot(`failed-off-${task.name.replace(/\W+/g, '-')}`);
  });

  it('knows what its user has set before anybody looks at it: the plugin may make the first checkpoint', async () => {
    const { folder, server } = session;
    const store = workspaceFolder(storeHome(server.env), folder);
    await expect
      .poll(() => loadConfig(folder, store, server.env).config.exclude, { timeout: 30_000 })
      .toEqual(['*.secret']);
    expect(existsSync(join(store, 'workspace.json'))).toBe(false);
  });

  it('says so while it is empty', async () => {
    const { workbench } = session;
    await workbench.openContainer(view);
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
