import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openWorkspace } from '../../src/git/open';
import { GitSync } from '../../src/sync/sync';
import { startOpenCode, type OpenCode } from '../rig/opencode';
import { VsCodeSession } from '../rig/vscode-session';

const view = 'Checkpoints';

/** Sessions are saved by themselves, come back when they are lost, and checkpoints go from person to person. */
describe('backup and sync', () => {
  let opencode: OpenCode;
  let session: VsCodeSession;
  let scratch: string;
  let drive: string;
  let lost: string;

  const saved = (): string[] =>
    readdirSync(drive, { recursive: true, encoding: 'utf8' }).filter((file) =>
      /^sessions\/[^/]+\/ses[^/]*\.json$/.test(file),
    );

  /** Another person's clone with a store of its own, and one checkpoint of it in the team's repository. */
  const pushAsColleague = async (folder: string): Promise<void> => {
    const bare = join(scratch, 'team.git');
    const clone = join(scratch, 'clone');
    execFileSync('git', ['init', '-q', '--bare', bare]);
    await mkdir(clone);
    await writeFile(join(clone, 'greet.txt'), 'bonjour\n');
    const api = await openWorkspace({
      directory: clone,
      home: join(scratch, 'their-store'),
      sync: (parts) => new GitSync(parts),
    });
    await api.create({ name: 'Bonjour' });
    await api.sync.push(bare);
    await api.close();
    execFileSync('git', ['remote', 'add', 'team', bare], { cwd: folder });
  };

  beforeAll(async () => {
    scratch = realpathSync(mkdtempSync(join(tmpdir(), 'checkpoints-e2e-backup-')));
    drive = join(scratch, 'Drive');
    await mkdir(drive);
    opencode = await startOpenCode({ generation: 'v2', files: { 'greet.txt': 'hello\n' } });
    session = await VsCodeSession.start({
      folder: opencode.workspace,
      settings: { 'workbench.colorTheme': 'Default Dark Modern' },
      size: { width: 1280, height: 720 },
      env: {
        OPENCODE_SERVER_URL: opencode.url,
        OPENCODE_SERVER_PASSWORD: opencode.password,
        OPENCODE_BIN: opencode.binary,
      },
    });
    lost = await opencode.createSession('Greetings in many languages');
    await opencode.turn(lost, 'Say hello', [{ text: 'Hello.' }]);
    const other = await opencode.createSession('Fix the login');
    await opencode.turn(other, 'Why does it fail?', [{ text: 'The token is old.' }]);
    await pushAsColleague(session.folder);
    await session.workbench.openContainer(view);
    await session.workbench.command('Checkpoints: Create Checkpoint');
  });
  afterAll(async () => {
    await session?.stop();
    await opencode?.dispose();
    rmSync(scratch, { recursive: true, force: true });
  });
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') await session.workbench.screenshot(`failed-${task.name.replace(/\W+/g, '-')}`);
  });

  it('asks for a folder, and saves every session there', async () => {
    const { workbench } = session;
    await workbench.command('Checkpoints: Back Up Sessions Now');
    await workbench.chooseFolder(drive, 'Back Up Here');
    await workbench.notification(/Backed up 2 sessions: 2 saved/).waitFor();
    expect(saved()).toHaveLength(2);
  });

  it('saves what comes after by itself', async () => {
    const { workbench } = session;
    const third = await opencode.createSession('Begun after the backup');
    await opencode.turn(third, 'Are you there?', [{ text: 'Yes.' }]);
    await expect.poll(saved, { timeout: 90_000 }).toHaveLength(3);
    await workbench.dismissNotifications();
    await workbench.command('Checkpoints: Show Backup Status');
    await workbench.quickRows.filter({ hasText: '3 sessions' }).waitFor();
    await workbench.quickRows.filter({ hasText: 'every change is saved by itself' }).waitFor();
    await workbench.screenshot('backup-status');
    await workbench.page.keyboard.press('Escape');
    // The tooltip of the status bar tells the same.
    const status = '[id="opencode-checkpoints.opencode-checkpoints.opencodeCheckpoints.status"]';
    await workbench.tooltip(workbench.page.locator(status), 'Backup: 3 sessions');
    await workbench.screenshot('backup-tooltip');
  });

  it('brings a lost session back', async () => {
    const { workbench } = session;
    const before = (await opencode.messages(lost)).map(({ type, text }) => [type, text]);
    await opencode.request('DELETE', `/api/session/${lost}`);
    await workbench.command('Checkpoints: Restore Sessions from Backup…');
    const row = workbench.quickRows.filter({ hasText: 'Greetings in many languages' });
    await row.waitFor();
    // What is missing here is ticked.
    await workbench.quickInput.getByText('1 Selected').waitFor();
    await workbench.quickRows.filter({ hasText: /Fix the login.*the same/ }).waitFor();
    await workbench.screenshot('backup-restore');
    await workbench.confirmPick();
    await workbench.notification('1 session restored.').waitFor();
    expect((await opencode.messages(lost)).map(({ type, text }) => [type, text])).toEqual(before);
  });

  it('shows a colleague’s checkpoints with their origin', async () => {
    const { workbench } = session;
    await workbench.dismissNotifications();
    await workbench.command('Checkpoints: Fetch Checkpoints…');
    await workbench.pick(/team/);
    await workbench.notification(/Fetched: 1 new checkpoint from/).waitFor();
    // A session that was begun meanwhile has a point of its own; those without one stand under a row then, open.
    await workbench.row(view, /^Bonjour.*from .+@.+/).waitFor();
    await workbench.notificationClick(/Fetched: 1 new checkpoint/, 'Show in Timeline');
    const page = await workbench.webview('checkpoints-timeline .row');
    await page.locator('.row.selected', { hasText: 'Bonjour' }).waitFor();
    await page.getByText(/^\s*From .+ on/).waitFor();
    await workbench.screenshot('sync-timeline');
  });
});
