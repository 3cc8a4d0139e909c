import * as assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { ServerWatch } from '../../src/host/server-watch';
import { RestoreFlow } from '../../src/host/restore-flow';
import { HostTimeline } from '../../src/host/timeline-backend';
import type { Services } from '../../src/host/services';
import { SessionStates } from '../../src/host/session-states';
import { Workspaces } from '../../src/host/workspaces';
import {
  activate,
  answering,
  closeEditors,
  eventually,
  opener,
  pluginOf,
  project,
  read,
  remove,
  second,
  showFile,
  withStore,
  write,
} from './helpers';

/** What the page asks for; the page itself is looked at in the browser tests. */
describe('timeline backend', () => {
  let workspaces: Workspaces;
  let backend: HostTimeline;
  let watch: ServerWatch;
  let states: SessionStates;

  before(async () => {
    await activate();
    workspaces = new Workspaces(opener());
    // Reading needs no more than these; most actions are those of the commands, tested there.
    const plugin = pluginOf(workspaces);
    const log = vscode.window.createOutputChannel('Checkpoints test', { log: true });
    watch = new ServerWatch(workspaces, plugin, log);
    states = new SessionStates(workspaces, log);
    const treeView = { visible: false } as Services['treeView'];
    const choose = () => Promise.reject(new Error('Nobody is to be asked for files.'));
    const flow = new RestoreFlow({ choose, cancel: async () => undefined }, log, async () => undefined);
    backend = new HostTimeline({ workspaces, plugin, watch, states, log, treeView, flow } as Services);
  });
  after(async () => {
    watch.dispose();
    states.dispose();
    await workspaces.close();
    workspaces.dispose();
    remove('timeline.txt');
  });

  it('lists the folders and the checkpoints of one of them', async () => {
    const made = await withStore((api) => api.create({ name: 'On the timeline' }));
    const source = await backend.timeline(null);
    assert.deepEqual(
      source.workspaces.map(({ name }) => name),
      ['project', 'second'],
    );
    assert.equal(source.workspace, project);
    assert.equal(source.checkpoints[0]?.id, made.id);
    const other = await backend.timeline(second);
    assert.equal(other.workspace, second);
    assert.ok(other.checkpoints.every(({ id }) => id !== made.id));
  });

  it('tells what changed in one, since the one before', async () => {
    const previous = await withStore((api) => api.create({ name: 'First' }));
    write('timeline.txt', 'x\n');
    const made = await withStore((api) => api.create({ name: 'Second' }));
    const details = await backend.details(project, made.id);
    assert.equal(details.previous?.id, previous.id);
    assert.deepEqual(
      details.changes.map(({ path, status }) => [path, status]),
      [['timeline.txt', 'added']],
    );
  });

  it('tells at the end of a turn what all of it changed, and finds it by any of its files', async () => {
    const session = { id: 'ses_whole_turn', messageId: null, messageCount: 0, title: null, parent: null };
    const turn = { number: 1, prompt: 'p', model: null, agent: null, cost: null, tokens: null };
    const make = (trigger: 'turn' | 'tool' | 'idle') => withStore((api) => api.create({ trigger, session, turn }));
    write('first-edit.txt', '1\n');
    const start = await make('turn');
    write('first-edit.txt', '2\n');
    await make('tool');
    write('second-edit.txt', '1\n');
    const end = await make('idle');
    const details = await backend.details(project, end.id);
    assert.deepEqual([details.previous?.id, details.wholeTurn], [start.id, true]);
    assert.deepEqual(
      details.changes.map(({ path, status }) => [path, status]),
      [
        ['first-edit.txt', 'modified'],
        ['second-edit.txt', 'added'],
      ],
    );
    assert.equal((await backend.timeline(null)).ends?.get(end.id)?.changed, 2);
    assert.ok((await backend.find(project, { file: 'first-edit.txt' })).includes(end.id));
    await withStore((api) => api.clear('ses_whole_turn'));
    for (const path of ['first-edit.txt', 'second-edit.txt']) remove(path);
  });

  it('finds by text and by file', async () => {
    const found = await backend.find(project, { text: 'On the timeline' });
    assert.equal(found.length, 1);
    assert.ok((await backend.find(project, { file: 'timeline.txt' })).length >= 1);
    assert.deepEqual(await backend.find(project, { text: 'no such words anywhere' }), []);
  });

  it('offers the plugin while nothing is made by itself', async () => {
    const { notices } = await backend.timeline(second);
    assert.deepEqual(
      notices?.map(({ action }) => action?.id),
      ['installPlugin'],
    );
    const turn = { number: 1, prompt: 'p', model: null, agent: null, cost: null, tokens: null };
    const session = { id: 'ses_notice', messageId: null, messageCount: 0, title: null, parent: null };
    await withStore((api) => api.create({ trigger: 'turn', session, turn }), second);
    assert.deepEqual((await backend.timeline(second)).notices, []);
    await withStore((api) => api.clear('ses_notice'), second);
  });

  it('acts in the folder that it shows, whatever the editor shows', async () => {
    await showFile('README.md');
    const before = (await withStore((api) => api.list())).length;
    assert.equal(await backend.act(second, { type: 'create' }), 'done');
    const made = await withStore((api) => api.resolve('latest'), second);
    assert.equal((await withStore((api) => api.list())).length, before);
    assert.equal(await backend.act(second, { type: 'pin', id: made.id, pinned: true }), 'done');
    assert.equal((await withStore((api) => api.resolve(made.id), second)).pinned, true);
    await assert.rejects(backend.act(`${second}-gone`, { type: 'create' }), {
      reason: 'invalid-argument',
    });
    await withStore((api) => api.remove([made.id]), second);
    await closeEditors();
    await vscode.commands.executeCommand('notifications.clearAll');
  });

  it('restores a file by its name as the tree does: at once, and asks only before it deletes one', async () => {
    write('timeline.txt', 'then\n');
    const made = await withStore((api) => api.create());
    write('timeline.txt', 'now\n');
    write('made-since.txt', 'x\n');
    const restore = (path: string) =>
      backend.act(project, { type: 'restore', id: made.id, scope: ['files'], paths: [path] });
    const [told] = await answering([], () => restore('timeline.txt'));
    assert.deepEqual([told?.kind, told?.message], ['information', 'Restored: 1 file written.']);
    assert.equal(read('timeline.txt'), 'then\n');
    const [asked] = await answering([undefined], () => restore('made-since.txt'));
    assert.match(asked?.message ?? '', /^Restore made-since\.txt as it was at/);
    remove('made-since.txt');
  });

  it('fails an action that cannot be done, instead of calling it cancelled', async () => {
    await assert.rejects(backend.act(project, { type: 'compareWorking', id: `cp_${'0'.repeat(26)}` }), {
      reason: 'unknown-reference',
    });
    await vscode.commands.executeCommand('notifications.clearAll');
  });

  it('says when something changed', async () => {
    let heard = 0;
    const stop = backend.onDidChange(() => (heard += 1));
    await withStore((api) => api.create({ name: 'Heard' }));
    await eventually(
      () => heard,
      (count) => count > 0,
      'heard nothing',
    );
    stop();
  });
});
