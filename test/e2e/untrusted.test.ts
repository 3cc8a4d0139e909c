import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { VsCodeSession } from '../rig/vscode-session';
import { withStore } from './afternoon';

const view = 'Checkpoints';

/** A folder from a stranger: nothing is made for it, and nothing in it is changed, until it is trusted. */
describe('untrusted folder', () => {
  let session: VsCodeSession;

  beforeAll(async () => {
    session = await VsCodeSession.start({
      files: { 'README.md': '# Stranger\n' },
      workspaceTrust: true,
      settings: { 'security.workspace.trust.startupPrompt': 'never' },
    });
  });
  afterAll(() => session?.stop());

  it('says why there is nothing to do', async () => {
    const { workbench } = session;
    await workbench.openContainer(view);
    await workbench.view(view).getByText('This folder is not trusted').waitFor();
    await workbench.screenshot('untrusted-1');
    expect(await workbench.offers('Checkpoints: Create Checkpoint')).toBe(false);
    // VS Code's own sign says it already.
    expect(await workbench.statusItem('Checkpoints').count()).toBe(0);
    await workbench.command('Checkpoints: Open Timeline');
    const page = await workbench.webview('.state');
    await page.getByRole('heading', { name: 'This folder is not trusted' }).waitFor();
    await workbench.screenshot('untrusted-timeline');
    await page.getByText('Manage Workspace Trust').click();
    // VS Code's editor for it is a dialog here, and has no tab.
    await workbench.page.getByRole('button', { name: 'Trust', exact: true }).waitFor();
    await workbench.page.keyboard.press('Escape');
    await workbench.page.getByRole('button', { name: 'Trust', exact: true }).waitFor({ state: 'hidden' });
  });

  it('shows checkpoints that are there, without a way to restore them', async () => {
    const { workbench } = session;
    await withStore(session, (api) => api.create({ name: 'Made elsewhere' }));
    await workbench.command('Checkpoints: Refresh');
    await workbench.row(view, 'Made elsewhere').waitFor();
    await workbench.row(view, 'Made elsewhere').hover();
    expect(
      await workbench
        .row(view, 'Made elsewhere')
        .locator('.action-label[aria-label^="Restore"]:not(.disabled)')
        .count(),
    ).toBe(0);
    await workbench.screenshot('untrusted-2');
  });

  it('works as soon as it is trusted', async () => {
    const { workbench } = session;
    await workbench.command('Workspaces: Manage Workspace Trust');
    await workbench.page.getByRole('button', { name: 'Trust', exact: true }).click();
    await workbench.command('Checkpoints: Create Checkpoint');
    await workbench.row(view, 'Manual checkpoint').waitFor();
  });
});
