import * as assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as vscode from 'vscode';
import type { WorkspaceApi } from '../../src/core/api';
import type { Checkpoint } from '../../src/core/model';
import { CheckpointsError } from '../../src/core/errors';
import { revertTurn } from '../../src/host/actions-restore';
import { commands } from '../../src/host/ids';
import { activeRoot, openRoots, pickCheckpoint, pickRoot } from '../../src/host/picker';
import type { Services } from '../../src/host/services';
import { timelineNotices } from '../../src/host/timeline-notices';
import { CheckpointTree } from '../../src/host/tree';
import { failedFolders, viewState } from '../../src/host/view-state';
import { Workspaces } from '../../src/host/workspaces';
import { activate, answering, closeEditors, opener, project, read, run, second, withStore, write } from './helpers';

const notes = join(second, 'notes.txt');

const listedBy = (api: WorkspaceApi, list: WorkspaceApi['list']): WorkspaceApi =>
  new Proxy(api, {
    get: (target, key) => {
      const value: unknown = key === 'list' ? list : Reflect.get(target, key);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });

describe('several folders', () => {
  before(activate);
  afterEach(closeEditors);

  it('that could not be opened are named, not replaced by others, and tried again alone', async () => {
    const open = opener();
    let broken = true;
    const workspaces = new Workspaces(async (directory) => {
      if (broken && directory === second) throw new CheckpointsError('git-missing', '');
      return open(directory);
    });
    const closed: string[] = [];
    workspaces.onDidClose((root) => closed.push(root.name));
    const [root, ...others] = await workspaces.all();
    assert.equal(root?.api.root, project);
    assert.deepEqual(others, []);
    assert.match(failedFolders(workspaces).join(), /^second could not be opened\. Git was not found\. /);
    await vscode.window.showTextDocument(vscode.Uri.file(notes));
    await assert.rejects(activeRoot(workspaces), { reason: 'git-missing' });
    broken = false;
    await workspaces.update();
    assert.deepEqual(
      workspaces.current.map(({ name }) => name),
      ['project', 'second'],
    );
    assert.equal(workspaces.current[0], root);
    assert.deepEqual(closed, []);
    assert.deepEqual(workspaces.failed, []);
    assert.equal((await activeRoot(workspaces))?.name, 'second');
    await workspaces.close();
    assert.deepEqual(closed, ['project', 'second']);
    workspaces.dispose();
  });

  it('get a new store where theirs was deleted under the open window', async () => {
    const kept = (await withStore((api) => api.list())).length;
    const folder = await withStore(async (api) => (await api.create(), api.folder), second);
    await vscode.window.showTextDocument(vscode.Uri.file(notes));
    assert.ok(await run<Checkpoint>(commands.create), 'no checkpoint before');
    rmSync(folder, { recursive: true });
    const made = await run<Checkpoint>(commands.create);
    assert.ok(made, 'no checkpoint afterwards');
    assert.deepEqual(
      (await withStore((api) => api.list(), second)).map(({ id }) => id),
      [made.id],
    );
    assert.equal((await withStore((api) => api.list())).length, kept);
  });

  for (const command of [commands.startServer, commands.installPlugin, commands.import, commands.clearSession])
    it(`are asked for by ${command}, which is over when nobody says one`, async () => {
      const asked = await answering([undefined], () => run(command));
      assert.deepEqual(
        asked.map(({ kind }) => kind),
        ['pick'],
      );
    });

  it('that cannot be opened are the reason why there is nothing to choose', async () => {
    const workspaces = new Workspaces(() => Promise.reject(new CheckpointsError('git-missing', '')));
    for (const ask of [
      () => openRoots(workspaces),
      () => pickRoot(workspaces, ''),
      () => pickCheckpoint(workspaces, ''),
    ])
      await assert.rejects(ask(), { reason: 'git-missing' });
    await workspaces.close();
    workspaces.dispose();
  });

  it('that have nothing to choose say how to have something', async () => {
    const open = opener();
    const workspaces = new Workspaces(async (directory) => {
      const opened = await open(directory);
      return { ...opened, api: listedBy(opened.api, () => Promise.resolve([])) };
    });
    await workspaces.update();
    const [asked] = await answering([undefined], () => pickCheckpoint(workspaces, ''));
    assert.equal(asked?.message, 'There is no checkpoint to choose yet.');
    assert.deepEqual(asked?.items, ['Create Checkpoint']);
    const [plain] = await answering([], () =>
      pickCheckpoint(workspaces, '', () => true, { text: 'No checkpoint is pinned.' }),
    );
    assert.deepEqual([plain?.message, plain?.items], ['No checkpoint is pinned.', []]);
    const flow = {} as Services['flow']; // with nothing to choose nothing is restored
    const [turns] = await answering([undefined], () => revertTurn({ workspaces, flow }, undefined));
    assert.match(turns?.message ?? '', /^No turn of an agent is recorded yet/);
    assert.deepEqual(turns?.items, ['Install OpenCode Plugin']);
    await workspaces.close();
    workspaces.dispose();
  });

  it('are shown beside one whose list cannot be read, which is told once; alone it is no empty list', async () => {
    await withStore((api) => api.create(), second);
    const open = opener();
    let [broken, alone] = [true, false];
    const workspaces = new Workspaces(async (directory) => {
      if (alone && directory === second) throw new CheckpointsError('git-missing', '');
      const opened = await open(directory);
      if (directory !== project) return opened;
      const list: WorkspaceApi['list'] = async (filter) => {
        if (broken) throw new CheckpointsError('store-broken', 'Its objects are gone.');
        return opened.api.list(filter);
      };
      return { ...opened, api: listedBy(opened.api, list) };
    });
    const errors: unknown[] = [];
    const tree = new CheckpointTree(workspaces, { asTree: false }, (error) => errors.push(error));
    const names = async (): Promise<string[]> => (await tree.getChildren()).map(({ root }) => root.name);
    assert.deepEqual(await names(), ['project', 'second']);
    const [bad, good] = await tree.getChildren();
    for (let round = 0; round < 2; round += 1) {
      assert.deepEqual(await tree.getChildren(bad), []);
      assert.notEqual((await tree.getChildren(good)).length, 0);
    }
    assert.equal(errors.length, 1, 'told more than once');
    assert.equal(viewState(workspaces, tree), 'ready');
    alone = true;
    await workspaces.reopen();
    assert.deepEqual(await names(), []);
    assert.equal(viewState(workspaces, tree), 'failed');
    broken = false;
    await tree.tryAgain();
    await names();
    assert.notEqual(viewState(workspaces, tree), 'failed');
    tree.dispose();
    await workspaces.close();
    workspaces.dispose();
  });

  it('that have lost their refs do not look empty, and what is lost beside others is told', async () => {
    await withStore((api) => api.create({ name: 'in the second' }), second);
    const workspaces = new Workspaces(opener());
    const roots = await workspaces.all();
    const root = roots.find(({ api }) => api.root === second);
    assert.ok(root);
    const errors: unknown[] = [];
    const tree = new CheckpointTree(workspaces, { asTree: false }, (error) => errors.push(error));
    const top = await tree.getChildren();
    const row = top.find((node) => node.root === root);
    rmSync(join(root.api.folder, 'snapshots.git', 'refs', 'checkpoints'), { recursive: true });
    rmSync(join(root.api.folder, 'snapshots.git', 'packed-refs'), { force: true });
    await tree.refresh();
    assert.deepEqual(await tree.getChildren(row), []);
    assert.match(String(errors[0]), /lost (its ref|their refs)/);
    const services = { workspaces, plugin: { stateOf: async () => 'installed' }, watch: { active: [] } };
    const states = { problemOf: () => null };
    const notices = await timelineNotices({ ...services, states } as unknown as Services, root, []);
    assert.deepEqual(
      notices.map(({ level, action }) => [level, action?.id]),
      [['warning', 'runDoctor']],
    );
    await root.api.doctor({ repair: true });
    await tree.refresh();
    assert.notEqual((await tree.getChildren(row)).length, 0);
    tree.dispose();
    await workspaces.close();
    workspaces.dispose();
  });

  it('that can both undo are asked about, the last restore first', async () => {
    const restored = async (directory: string, change: () => void): Promise<void> =>
      withStore(async (api) => {
        const { id } = await api.create({ name: 'To go back to' });
        change();
        await api.restore(id, { scope: ['files'] });
      }, directory);
    const readme = read('README.md');
    writeFileSync(notes, 'one\n');
    await restored(project, () => write('README.md', '# Changed\n'));
    await restored(second, () => writeFileSync(notes, 'two\n'));
    assert.equal(readFileSync(notes, 'utf8'), 'one\n');
    const asked = await answering(['second'], () => run(commands.undo));
    assert.deepEqual(asked[0]?.items, ['$(root-folder) second', '$(root-folder) project']);
    assert.equal(readFileSync(notes, 'utf8'), 'two\n');
    assert.equal(read('README.md'), readme);
    writeFileSync(notes, 'one\n');
  });
});
