import * as assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { commands } from '../../src/host/ids';
import { offerOldData } from '../../src/host/actions-import';
import { OldData } from '../../src/host/import';
import type { Services } from '../../src/host/services';
import { Workspaces } from '../../src/host/workspaces';
import { oldDatabase, oldManifest } from '../git/import-rig';
import {
  activate,
  answering,
  at,
  backupOf,
  closeEditors,
  extension,
  log,
  opener,
  project,
  run,
  showFile,
  withStore,
} from './helpers';

describe('what older tools kept', () => {
  let scratch: string;

  before(async () => {
    await activate();
    scratch = mkdtempSync(join(tmpdir(), 'checkpoints-host-import-'));
  });
  // The folder of the active editor is the one that is meant.
  beforeEach(async () => {
    await closeEditors();
    await showFile('README.md');
  });
  after(async () => {
    await withStore(async (api) => {
      await api.remove((await api.list({ trigger: 'import' })).map(({ id }) => id));
    });
    rmSync(scratch, { recursive: true, force: true });
    await closeEditors();
  });

  it('is imported from the place that the user names, and restored as far as it goes', async () => {
    oldManifest(join(scratch, 'ab12cd34'), [
      { filePath: at('README.md'), content: '# First\n', at: '2025-10-09T08:00:00Z' },
      { filePath: '/elsewhere/x', content: 'x', at: '2025-10-09T08:00:00Z' },
    ]);
    const asked = await answering(['OpenOrca…', scratch, 'Show Details'], () => run(commands.import));
    assert.equal(asked[2]?.message, 'Imported 1 checkpoint of OpenOrca, 1 left out.');
    const [imported] = await withStore((api) => api.list({ trigger: 'import' }));
    assert.deepEqual(imported?.files.only, ['README.md']);
    const restore = await answering(['Restore', undefined], () => run(commands.restore, imported?.id));
    assert.match(restore[0]?.detail ?? '', /^1 file will be written\./);
    await answering([undefined], () => run(commands.undo));
  });

  it('without files offers what it has', async () => {
    const file = join(scratch, 'checkpoints.db');
    await oldDatabase(file, [{ id: 5, name: 'Old bookmark', metadata: JSON.stringify({ directory: project }) }]);
    await answering(['opencode-checkpoint-plugin…', file, undefined], () => run(commands.import));
    const { id } = await withStore((api) => api.resolve('Old bookmark'));
    // No OpenCode is there to ask for its conversation: that is said, and no file is touched.
    const asked = await answering([undefined], () => run(commands.restore, id));
    assert.equal(asked[0]?.kind, 'error');
    const compared = await answering([], () => run(commands.compareWorking, id));
    assert.match(compared[0]?.message ?? '', /has no files/);
  });

  it('is offered once for a workspace', async () => {
    const file = join(homedir(), '.local/share/opencode/checkpoints.db');
    await oldDatabase(file, [{ id: 9, name: 'Found by itself', metadata: JSON.stringify({ directory: project }) }]);
    const workspaces = new Workspaces(opener());
    try {
      await workspaces.all();
      const oldData = new OldData(extension().extensionUri, backupOf(workspaces), log());
      const services = { workspaces, oldData, log: log() } as unknown as Services;
      const asked = await answering(['Not Now'], () => offerOldData(services));
      assert.equal(asked[0]?.message, 'Found 1 checkpoint of opencode-checkpoint-plugin for this folder.');
      assert.deepEqual(asked[0]?.items, ['Import', 'Not Now']);
      assert.deepEqual(await answering([], () => offerOldData(services)), []);
      // It is still there for whoever asks for it.
      const later = await answering(['opencode-checkpoint-plugin', undefined], () => run(commands.import));
      assert.ok(later[0]?.items.includes('Found on this machine'), JSON.stringify(later));
      assert.match(later[1]?.message ?? '', /^Imported 1 checkpoint of opencode-checkpoint-plugin/);
    } finally {
      await workspaces.close();
      workspaces.dispose();
      rmSync(file, { force: true });
    }
  });
});
