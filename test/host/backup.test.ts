import * as assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as vscode from 'vscode';
import type { BackupStatus, BackupTrouble, RestorePreview } from '../../src/backup/api';
import { loadConfig } from '../../src/core/config';
import { sessionItems } from '../../src/host/backup-picker';
import { BackupWarning } from '../../src/host/backup-warning';
import { commands, section, settings } from '../../src/host/ids';
import {
  activate,
  answering,
  at,
  backupOf,
  closeEditors,
  eventually,
  opener,
  run,
  showFile,
  withStore,
} from './helpers';
import { Workspaces } from '../../src/host/workspaces';

const configuration = () => vscode.workspace.getConfiguration(section);

describe('session backup', () => {
  let scratch: string;

  before(async () => {
    await activate();
    await showFile('README.md');
    scratch = mkdtempSync(join(tmpdir(), 'checkpoints-host-backup-'));
  });
  after(async () => {
    await configuration().update(settings.backupPath, undefined, vscode.ConfigurationTarget.Global);
    rmSync(scratch, { recursive: true, force: true });
    await closeEditors();
  });

  it('is off until a folder is named, and says so', async () => {
    const asked = await answering([undefined], () => run(commands.showBackupStatus));
    assert.deepEqual(asked[0]?.items, [
      '$(cloud-upload) Back Up Sessions…',
      '$(history) Restore Sessions from Backup…',
    ]);
    const given = await answering([undefined], () => run(commands.backUpNow));
    assert.equal(given[0]?.message, 'Back Up Sessions: where to?');
    const inside = await answering([at('src')], () => run(commands.backUpNow));
    assert.match(inside[1]?.message ?? '', /Choose one outside of it/);
    assert.equal(configuration().get(settings.backupPath), '');
  });

  it('asks for the folder, keeps it for all hosts, and tells why nothing could be saved', async () => {
    const folder = join(scratch, 'drive');
    mkdirSync(folder);
    // There is no OpenCode in this window's world.
    const asked = await answering([folder, undefined], () => run(commands.backUpNow));
    assert.equal(configuration().get(settings.backupPath), folder);
    assert.equal(asked[1]?.kind, 'warning', JSON.stringify(asked));
    assert.match(asked[1]?.message ?? '', /OpenCode/);
    assert.deepEqual(asked[1]?.items, ['Choose Another Folder', 'Show Log']);
    const known = await withStore(async (api) => loadConfig(api.root, api.folder).config['backup.path']);
    assert.equal(known, folder);
    const status = await answering([undefined], () => run(commands.showBackupStatus));
    assert.ok(
      status[0]?.items.some((item) => item.includes(folder)),
      JSON.stringify(status[0]?.items),
    );
  });

  it('is off again when the setting is', async () => {
    const workspaces = new Workspaces(opener());
    await workspaces.all();
    const backup = backupOf(workspaces);
    try {
      assert.notEqual((await (await backup.api()).status()).state, 'off');
      await configuration().update(settings.backupPath, undefined, vscode.ConfigurationTarget.Global);
      await eventually(
        async () => (await (await backup.api()).status()).state,
        (state) => state === 'off',
        'the backup stays on',
      );
    } finally {
      await backup.close();
      backup.dispose();
      await workspaces.close();
      workspaces.dispose();
    }
  });

  it('says once that it does not work, again only after it did, and not to somebody who is told anyway', async () => {
    const changed = new vscode.EventEmitter<void>();
    const well: BackupStatus = {
      ...{ path: '/drive', source: 'setting', state: 'idle', running: null, problem: null, suggestions: [] },
      ...{ sessions: 1, ownSessions: 1, deletedSessions: 0, bytes: 1, machines: 1, runs: 1 },
      ...{ lastRunAt: null, lastSuccessAt: null },
    };
    const failing = (trouble: BackupTrouble): BackupStatus => ({
      ...well,
      state: 'problem',
      problem: { trouble, message: 'It is so.', at: '' },
    });
    const watched = { status: well as BackupStatus | null, isAsked: false, onDidChange: changed.event };
    const warning = new BackupWarning(watched);
    const tell = (status: BackupStatus, isAsked = false): void => {
      Object.assign(watched, { status, isAsked });
      changed.fire();
    };
    const asked = await answering([undefined, undefined], async () => {
      tell(failing('destination-missing'));
      tell(failing('destination-missing'));
      tell({ ...failing('destination-missing'), state: 'running' });
      tell(failing('busy'));
      tell(failing('destination-missing'));
      tell(failing('destination-full'), true);
      tell(well);
      tell(failing('destination-missing'));
    });
    assert.equal(asked.length, 2);
    for (const { kind, message, items } of asked) {
      assert.equal(kind, 'warning');
      assert.match(message, /^Sessions are not backed up\. It is so\. Connect the drive/);
      assert.deepEqual(items, ['Show Status', 'Choose Another Folder']);
    }
    warning.dispose();
    changed.dispose();
  });

  it('shows sessions by what became of them, and ticks what is missing here', () => {
    const session = (id: string, state: 'new' | 'same' | 'older', directory: string, more: object = {}) => ({
      ...{ id, title: id, projectId: 'p', directory, parentId: null, generation: 'v1' as const, deleted: false },
      ...{ legacy: false, state },
      versions: [{ file: id, savedAt: new Date().toISOString(), updatedAt: 1, messages: 2, bytes: 1, machine: null }],
      ...more,
    });
    const preview: RestorePreview = {
      path: '/backup',
      unreadable: [],
      sessions: [
        session('there', 'same', '/here'),
        session('elsewhere', 'new', '/other'),
        session('here', 'new', '/here'),
        session('sub-agent', 'new', '/here', { parentId: 'here' }),
        session('bin', 'new', '/here', { deleted: true }),
        session('gone on', 'older', '/here'),
      ],
    };
    const items = sessionItems(preview, (directory) => directory === '/here');
    assert.deepEqual(
      items.map(({ label, picked, kind }) =>
        kind === vscode.QuickPickItemKind.Separator
          ? `-- ${label}`
          : `${picked === true ? 'x' : ' '} ${label.replace(/^\$\(\S+\) /, '')}`,
      ),
      [
        '-- Not in OpenCode',
        'x here',
        '  bin',
        '  elsewhere',
        '-- OpenCode has gone on since',
        '  gone on',
        '-- The same in OpenCode',
        '  there',
      ],
    );
  });
});
