import * as assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type * as vscode from 'vscode';
import { openWorkspace } from '../../src/git/open';
import { GitSync } from '../../src/sync/sync';
import { commands } from '../../src/host/ids';
import { CheckpointTree } from '../../src/host/tree';
import type { TreeNode } from '../../src/host/tree-nodes';
import { Workspaces } from '../../src/host/workspaces';
import { activate, answering, closeEditors, opener, project, run, showFile, withStore } from './helpers';

const git = (cwd: string, ...args: string[]): string => execFileSync('git', args, { cwd, encoding: 'utf8' });

describe('push, fetch, export and import', () => {
  let scratch: string;
  let bare: string;
  let colleague: string;

  /** Another person's clone with a store of its own, as on another machine. */
  const asColleague = async <T>(work: (api: Awaited<ReturnType<typeof openWorkspace>>) => Promise<T>): Promise<T> => {
    const api = await openWorkspace({
      directory: colleague,
      home: join(scratch, 'their-store'),
      sync: (parts) => new GitSync(parts),
    });
    try {
      return await work(api);
    } finally {
      await api.close();
    }
  };

  before(async () => {
    await activate();
    await showFile('README.md');
    scratch = mkdtempSync(join(tmpdir(), 'checkpoints-host-sync-'));
    bare = join(scratch, 'team.git');
    colleague = join(scratch, 'clone');
    git(scratch, 'init', '-q', '--bare', bare);
    mkdirSync(colleague);
    git(colleague, 'init', '-q');
    writeFileSync(join(colleague, 'theirs.txt'), 'theirs\n');
    git(project, 'remote', 'add', 'team', bare);
  });
  after(async () => {
    git(project, 'remote', 'remove', 'team');
    await withStore(async (api) => {
      const fetched = (await api.list()).filter(({ origin }) => origin !== null);
      await api.remove(fetched.map(({ id }) => id));
    });
    rmSync(scratch, { recursive: true, force: true });
    await closeEditors();
  });

  it('says what leaves the machine before it does, and nothing goes without a yes', async () => {
    await withStore((api) => api.create({ name: 'To be pushed' }));
    const asked = await answering(['team', undefined], () => run(commands.push));
    assert.deepEqual(asked[0]?.items, ['$(repo) team', '$(globe) Another Address…', '$(folder) A Folder…']);
    assert.match(asked[1]?.detail ?? '', /can then read the files .* and the conversations/);
    assert.deepEqual(asked[1]?.items, ['Push', 'Push without Conversations']);
    assert.equal(git(bare, 'for-each-ref'), '');
  });

  it('pushes to a remote of the repository', async () => {
    const asked = await answering(['team', 'Push without Conversations'], () => run(commands.push));
    assert.match(asked[2]?.message ?? '', /^Pushed to .+: .*new checkpoints?/);
    await asColleague(async (api) => {
      const { added } = await api.sync.fetch(bare);
      assert.ok(added.some(({ title }) => title === 'To be pushed'));
    });
    const again = await answering(['team', 'Push without Conversations'], () => run(commands.push));
    assert.match(again[2]?.message ?? '', /^Everything is in .+ already/);
  });

  it('fetches what others pushed, and shows whose it is', async () => {
    await asColleague(async (api) => {
      await api.create({ name: 'Made by a colleague' });
      await api.sync.push(bare);
    });
    const asked = await answering(['team', undefined], () => run(commands.fetch));
    assert.match(asked[1]?.message ?? '', /^Fetched: 1 new checkpoint from .+@.+\.$/);
    assert.deepEqual(asked[1]?.items, ['Show in Timeline']);
    const fetched = await withStore((api) => api.resolve('Made by a colleague'));
    assert.ok(fetched.origin);
    const workspaces = new Workspaces(opener());
    const tree = new CheckpointTree(workspaces, { asTree: false }, (error) => assert.fail(String(error)));
    const find = async (nodes: TreeNode[]): Promise<TreeNode | undefined> => {
      for (const node of nodes) {
        if (node.type === 'checkpoint' && node.checkpoint.id === fetched.id) return node;
        const found =
          node.type === 'root' || node.type === 'session' ? await find(await tree.getChildren(node)) : undefined;
        if (found !== undefined) return found;
      }
      return undefined;
    };
    const node = await find(await tree.getChildren());
    assert.ok(node);
    const item = await tree.getTreeItem(node);
    assert.match(String(item.description), /from .+@.+/);
    assert.equal((item.iconPath as vscode.ThemeIcon).id, 'cloud-download');
    tree.dispose();
    await workspaces.close();
    workspaces.dispose();
    const none = await answering(['team'], () => run(commands.fetch));
    assert.equal(none[1]?.message, 'Nothing new there.');
  });

  it('exports chosen checkpoints to a file, which another workspace imports', async () => {
    const file = join(scratch, 'chosen.bundle');
    const tick = (title: string) => (items: readonly unknown[]) =>
      (items as Array<{ label: string }>).filter(({ label }) => label.includes(title));
    const asked = await answering([tick('To be pushed'), file, undefined], () => run(commands.export));
    assert.match(asked[2]?.message ?? '', /^1 checkpoint in .*chosen\.bundle/);
    await asColleague(async (api) => {
      await api.remove((await api.list()).filter(({ origin }) => origin !== null).map(({ id }) => id));
      const { refused } = await api.sync.importBundle(file);
      assert.deepEqual(refused, []);
    });
    const theirs = join(scratch, 'theirs.bundle');
    await asColleague(async (api) => {
      const { id } = await api.create({ name: 'In a file' });
      await api.sync.exportBundle([id], theirs);
    });
    const imported = await answering(['Checkpoint File…', theirs, undefined], () => run(commands.import));
    assert.match(imported[2]?.message ?? '', /^Fetched: 1 new checkpoint/);
    assert.ok((await withStore((api) => api.resolve('In a file'))).origin);
  });

  it('names the place that does not work, and a way out', async () => {
    const asked = await answering(['Another Address…', join(scratch, 'nowhere.git')], () => run(commands.fetch));
    assert.equal(asked[2]?.kind, 'error');
    assert.match(asked[2]?.message ?? '', /nowhere\.git/);
  });
});
