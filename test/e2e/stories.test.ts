import { writeFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Workbench } from '../rig/browser';
import { VsCodeSession } from '../rig/vscode-session';
import { playAfternoon, project, withStore } from './afternoon';

const view = 'Checkpoints';

/** What people come for, each as one of them would do it. */
describe('stories', () => {
  let session: VsCodeSession;

  beforeAll(async () => {
    session = await VsCodeSession.start({
      files: project,
      settings: { 'workbench.colorTheme': 'Default Dark Modern' },
    });
    await playAfternoon(session);
    await session.workbench.openContainer(view);
    await session.workbench.expand(view, /^Add discounts to the cart\s*(now|\d)/);
  });
  afterAll(() => session?.stop());
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') await session.workbench.screenshot(`failed-${task.name.replace(/\W+/g, '-')}`);
  });

  it('a checkpoint of another process appears by itself', async () => {
    await withStore(session, (api) => api.create({ name: 'Made elsewhere' }));
    await session.workbench.expand(view, 'Without a session');
    await session.workbench.row(view, 'Made elsewhere').waitFor();
  });

  it('one function of one file is taken back', async () => {
    const { workbench } = session;
    // The agent changed total() and renamed describe(): only the latter is to be undone.
    expect(await session.read('src/cart.ts')).toContain('export function label');
    await workbench.openFile('src/cart.ts');
    await workbench.command('Checkpoints: Compare Active File with…');
    await workbench.pick(/Before the agent/);
    await workbench.tab(/cart\.ts \(Before the agent ↔ Working File\)/).waitFor();
    const line = workbench.diff.locator('.editor.modified .view-line', { hasText: 'function label' });
    await line.click();
    await workbench.contextMenu(line, 'Restore Selected Lines');
    await expect.poll(() => workbench.diffText('modified')).toContain('function describe');
    await workbench.screenshot('story-lines');
    await workbench.command('File: Save');
    await expect.poll(() => session.read('src/cart.ts')).toContain('export function describe');
    expect(await session.read('src/cart.ts')).toContain('discount = 0');
  });

  it('one change is restored from the gutter', async () => {
    const { workbench } = session;
    await workbench.contextMenu(workbench.row(view, 'Before the agent'), 'Show Changes in Gutter');
    await workbench.openFile('src/cart.ts');
    await workbench.page.locator('.editor-instance .dirty-diff-glyph').first().waitFor();
    await workbench.page.keyboard.press('Alt+F3');
    const peek = workbench.page.locator('.peekview-widget');
    await peek.waitFor();
    await workbench.screenshot('story-gutter');
    await workbench.choosePeekProvider(/^Checkpoint: Before the agent/);
    await peek.locator('.action-label[aria-label^="Restore This Change"]').click();
    await workbench.command('File: Save');
    await expect.poll(() => session.read('src/cart.ts')).toBe(project['src/cart.ts']);
    await workbench.command('Checkpoints: Hide Changes in Gutter');
  });

  it('one change is taken back among all that changed', async () => {
    const { workbench } = session;
    const [was = '', broken] = [project['src/cart.ts'], 'sum - item.price'];
    await session.write('src/cart.ts', was.replace('sum + item.price', broken).replace('x ${', '× ${'));
    await workbench.contextMenu(workbench.row(view, 'Before the agent'), 'Compare with Working Files');
    await workbench.tab(/Before the agent ↔ Working Files/).waitFor();
    const line = workbench.diff.locator('.editor.modified .view-line', { hasText: 'sum' });
    await line.click();
    // By the palette, for whoever has no mouse; and back.
    await workbench.command('Checkpoints: Restore Selected Lines');
    await expect.poll(() => workbench.diffText('modified')).toContain('sum + item.price');
    await workbench.page.keyboard.press('Control+z');
    await expect.poll(() => workbench.diffText('modified')).toContain(broken);
    await workbench.contextMenu(line, 'Restore Selected Lines');
    await expect.poll(() => workbench.diffText('modified')).toContain('sum + item.price');
    await workbench.command('File: Save All Files');
    await expect.poll(() => session.read('src/cart.ts')).toBe(was.replace('x ${', '× ${'));
    // All of it, by the same menu.
    await workbench.contextMenu(
      workbench.diff.locator('.editor.modified .view-line', { hasText: '×' }),
      'Restore This File',
    );
    await workbench.notification('Restored: 1 file written.').waitFor();
    expect(await session.read('src/cart.ts')).toBe(was);
    await workbench.dismissNotifications();
  });

  it('a checkpoint is found by a file it changed', async () => {
    const { workbench } = session;
    await workbench.command('Checkpoints: Search…');
    await workbench.quickInput.getByPlaceholder(/Words, and/).waitFor();
    await workbench.enter('file:cart.test');
    await expect.poll(() => workbench.quickRows.count()).toBeLessThan(4);
    // What one moves to is shown behind the list.
    await workbench.tab(/^cart\.test\.ts/).waitFor();
    await workbench.screenshot('story-search');
    // What was found is the end of a turn: what that changed is what one sees then, too.
    await workbench.page.keyboard.press('Enter');
    await workbench.tab(/^Changes of “Add a discount to total\(\)/).waitFor();
  });

  it('a prompt is found by its words, and what changed since is shown', async () => {
    const { workbench } = session;
    await workbench.command('Checkpoints: Search…');
    await workbench.quickInput.getByPlaceholder(/Words, and/).waitFor();
    await workbench.enter('coupon class');
    const preview = workbench.tab(/\(Before “Try it with a coupon class instead” ↔ Working File\)/);
    await preview.waitFor();
    await workbench.quickInput.locator('input.input').press('Escape');
    await preview.waitFor({ state: 'detached' });
  });

  it('the timeline shows the same afternoon, and restores from it', async () => {
    const { workbench } = session;
    await workbench.command('Checkpoints: Open Timeline');
    const page = await workbench.webview('checkpoints-timeline .row');
    await page.locator('.row.named', { hasText: 'Before the agent' }).first().click();
    await page.getByText('All files').first().waitFor();
    await workbench.screenshot('story-timeline');
    await page.getByRole('button', { name: 'Restore…' }).first().click();
    expect(await workbench.modalText()).toContain('Restore “Before the agent”?');
    await workbench.modalClick('Cancel');
  });

  it('several folders have their own checkpoints', async () => {
    const other = join(session.folder, '..', 'other');
    const file = join(session.folder, '..', 'both.code-workspace');
    // A second try finds it there.
    await mkdir(other, { recursive: true });
    await writeFile(join(other, 'notes.txt'), 'one\n');
    const write = (): Promise<void> =>
      writeFile(file, JSON.stringify({ folders: [{ path: 'project' }, { path: 'other' }] }));
    await write();
    const workbench = await Workbench.open(session.browser, session.server.workspaceUrl(file));
    try {
      // On a busy machine VS Code may take a workspace file that is new to it for one without folders, until it is written again.
      const [none, folder] = ['You have not yet added a folder', 'other'].map((text) =>
        workbench.page.locator('.sidebar').getByText(text).first(),
      );
      if (none === undefined || folder === undefined) throw new Error('no explorer');
      await none.or(folder).waitFor();
      if (await none.isVisible()) await write();
      await folder.waitFor();
      await workbench.openContainer(view);
      await workbench.command('Checkpoints: Create Checkpoint');
      await workbench.pick('other');
      await workbench.row(view, /^other/).waitFor();
      expect((await workbench.rowTexts(view)).filter((text) => /^(project|other)$/.test(text))).toEqual([
        'project',
        'other',
      ]);
      await workbench.screenshot('story-multi-root');
    } finally {
      await workbench.close();
    }
  });

  it('a window without a folder says what is missing, whatever is asked for, and leads to one', async () => {
    const workbench = await Workbench.open(session.browser, `http://127.0.0.1:${session.server.port}/?ew=true`);
    try {
      await workbench.openContainer(view);
      await workbench.view(view).getByText('Checkpoints belong to a folder').waitFor();
      await workbench.screenshot('story-no-folder');
      for (const title of ['Create Checkpoint', 'Search…', 'Compare Active File with…', 'Compare Selected']) {
        await workbench.command(`Checkpoints: ${title}`);
        const message = workbench.notification('Open a folder first: checkpoints belong to one.');
        await message.locator('.monaco-button', { hasText: 'Open Folder…' }).waitFor();
        await workbench.dismissNotifications();
        await message.waitFor({ state: 'detached' });
      }
      await workbench.openView('Task');
      await workbench.view('Task').getByText('A task belongs to a folder.').waitFor();
    } finally {
      await workbench.close();
    }
  });
});
