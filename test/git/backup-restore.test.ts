import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CheckpointsError } from '../../src/core/errors';
import type { SessionExport } from '../../src/core/sessions';
import { place, read, tree, write, type TestMachine } from './backup-rig';

const states = async (machine: TestMachine): Promise<Record<string, string>> =>
  Object.fromEntries((await machine.service.preview()).sessions.map(({ id, state }) => [id, state]));
const said = (document: SessionExport): unknown => document.messages;

describe('a restore', () => {
  it('brings everything back to a fresh machine, children after their parents', async () => {
    const { machine, backup } = place();
    const one = machine('one');
    one.server.add('ses_z', { messages: 4, todos: ['a', 'b'] });
    one.server.add('ses_child', { parent: 'ses_z' });
    one.server.add('ses_grandchild', { parent: 'ses_child' });
    one.server.add('ses_other', { project: 'project2' });
    await one.service.run();
    const before = tree(backup);

    const two = machine('two');
    expect(await states(two)).toEqual({ ses_z: 'new', ses_child: 'new', ses_grandchild: 'new', ses_other: 'new' });
    const report = await two.service.restore();
    expect(report).toMatchObject({ skipped: [], failed: [] });
    expect(report.restored.map(({ from, id, todos }) => [from, id, todos])).toEqual([
      ['ses_z', 'ses_z', 'restored'],
      ['ses_child', 'ses_child', null],
      ['ses_grandchild', 'ses_grandchild', null],
      ['ses_other', 'ses_other', null],
    ]);
    for (const id of one.server.ids()) expect(said(two.server.read(id))).toEqual(said(one.server.read(id)));
    expect(await two.server.todos('ses_z')).toEqual(await one.server.todos('ses_z'));
    expect(two.server.read('ses_z').info['directory']).toBe(join(two.home, 'project'));
    expect(await states(two)).toEqual({ ses_z: 'same', ses_child: 'same', ses_grandchild: 'same', ses_other: 'same' });
    // Reading changed nothing but the log.
    before.delete('sync.log');
    const after = tree(backup);
    after.delete('sync.log');
    expect(after).toEqual(before);
    const again = await two.service.restore();
    expect(again).toMatchObject({ restored: [], failed: [] });
    expect(again.skipped).toHaveLength(4);
  });

  it('takes one with its children, some, or those of a project', async () => {
    const { machine } = place();
    const one = machine('one');
    one.server.add('ses_a');
    one.server.add('ses_a1', { parent: 'ses_a' });
    one.server.add('ses_b');
    one.server.add('ses_c', { project: 'project2' });
    await one.service.run();
    const restored = async (name: string, request: Parameters<TestMachine['service']['restore']>[0]) => {
      const two = machine(name);
      await two.service.restore(request);
      return two.server.ids();
    };
    expect(await restored('two', { sessions: ['ses_a'] })).toEqual(['ses_a', 'ses_a1']);
    expect(await restored('three', { sessions: ['ses_a1', 'ses_c'] })).toEqual(['ses_a1', 'ses_c']);
    expect(await restored('four', { project: 'project2' })).toEqual(['ses_c']);
    const five = machine('five');
    await expect(five.service.restore({ sessions: ['ses_a', 'ses_nowhere'] })).rejects.toMatchObject({
      reason: 'session-missing',
    });
    expect(five.server.ids()).toEqual([]);
  });

  it('tells new, same, older, newer and different, and changes nothing that is there', async () => {
    const { machine } = place();
    const one = machine('one');
    for (const id of ['ses_new', 'ses_same', 'ses_older', 'ses_newer', 'ses_different'])
      one.server.add(id, { messages: 3 });
    await one.service.run();
    const two = machine('two');
    for (const id of ['ses_same', 'ses_older', 'ses_newer', 'ses_different']) two.server.put(one.server.read(id));
    two.server.say('ses_older');
    two.server.put({ ...two.server.read('ses_newer'), messages: one.server.read('ses_newer').messages.slice(0, 1) });
    two.server.add('ses_different', { messages: 2 });
    const other = two.server.read('ses_different');
    two.server.put({ ...other, messages: [...other.messages.slice(0, 1), { info: { id: 'msg_else' }, parts: [] }] });
    expect(await states(two)).toEqual({
      ses_new: 'new',
      ses_same: 'same',
      ses_older: 'older',
      ses_newer: 'newer',
      ses_different: 'different',
    });
    const before = tree(join(two.home, 'sessions'));
    const report = await two.service.restore();
    expect(report.restored.map(({ id }) => id)).toEqual(['ses_new']);
    const after = tree(join(two.home, 'sessions'));
    after.delete('ses_new.json');
    expect(after).toEqual(before);
  });

  it('brings in what is there as a copy when that is wanted, under new ids that fit together', async () => {
    const { machine } = place();
    const one = machine('one');
    one.server.add('ses_a', { messages: 2 });
    const document = one.server.read('ses_a');
    const call = { type: 'tool', tool: 'task', state: { status: 'completed', metadata: { sessionId: 'ses_a1' } } };
    one.server.put({
      ...document,
      messages: [
        ...document.messages,
        { info: { id: 'msg_x', parentID: 'msg_a_0000' }, parts: [{ id: 'prt_x', ...call }] },
      ],
    });
    one.server.add('ses_a1', { parent: 'ses_a' });
    one.server.add('ses_same');
    await one.service.run();
    one.server.say('ses_a');
    one.server.delete('ses_a1');
    const before = one.server.read('ses_a');
    const report = await one.service.restore({ existing: 'copy' });
    expect(report.failed).toEqual([]);
    expect(report.skipped.map(({ id, state }) => [id, state])).toEqual([['ses_same', 'same']]);
    expect(one.server.read('ses_a')).toEqual(before);
    const copy = report.restored.find(({ from }) => from === 'ses_a')?.id ?? '';
    expect(copy).not.toBe('ses_a');
    const copied = one.server.read(copy);
    expect(copied.info['title']).toBe('Session ses_a (from backup)');
    expect(copied.messages).toHaveLength(3);
    const text = JSON.stringify(copied.messages);
    expect(text).not.toContain('msg_a_0000');
    expect(text).not.toContain('"ses_a"');
    // The child was free, and is tied to the copy that it came in with.
    expect(one.server.read('ses_a1').info['parentID']).toBe(copy);
    const named = await one.service.restore({ existing: 'copy', sessions: ['ses_same'] });
    expect(named.restored[0]?.id).toMatch(/^ses_/);
  });

  it('copies a session when its id is free and its messages are elsewhere', async () => {
    const { machine } = place();
    const one = machine('one');
    one.server.add('ses_a');
    await one.service.run();
    one.server.delete('ses_a');
    const { importSession } = one.server;
    one.server.importSession = (document, options) => {
      if (!options.copy) return Promise.reject(new CheckpointsError('server-failed', '500'));
      return importSession.call(one.server, document, options);
    };
    const report = await one.service.restore();
    expect(report).toMatchObject({ failed: [], restored: [{ from: 'ses_a' }] });
    expect(report.restored[0]?.id).not.toBe('ses_a');
  });

  it('does not leave a session behind of which OpenCode took only a part', async () => {
    const { machine } = place();
    const one = machine('one');
    one.server.add('ses_a', { messages: 5 });
    await one.service.run();
    const two = machine('two');
    const { exportSession } = two.server;
    two.server.exportSession = async (id) => {
      const document = await exportSession.call(two.server, id);
      return { ...document, messages: document.messages.slice(1) };
    };
    const report = await two.service.restore();
    expect(report.restored).toEqual([]);
    expect(report.failed[0]?.message).toContain('4 of the 5 messages');
    expect(two.server.ids()).toEqual([]);
  });

  it('offers what was deleted, and brings it back when it is named', async () => {
    const { machine, backup } = place();
    const one = machine('one');
    one.server.add('ses_gone', { messages: 3 });
    await one.service.run();
    const document = one.server.read('ses_gone');
    one.server.delete('ses_gone');
    one.service.noticed({ type: 'session', change: 'deleted', session: 'ses_gone', directory: null });
    await one.service.run();
    expect((await one.service.preview()).sessions).toMatchObject([{ id: 'ses_gone', deleted: true, state: 'new' }]);
    expect((await one.service.preview({ deleted: false })).sessions).toEqual([]);
    expect((await one.service.restore()).restored).toEqual([]);
    expect((await one.service.restore({ sessions: ['ses_gone'] })).restored).toHaveLength(1);
    expect(said(one.server.read('ses_gone'))).toEqual(said(document));
    await one.service.run();
    expect(tree(backup).has('sessions/project1/ses_gone.json')).toBe(true);
    expect(tree(backup).has('deleted/project1/ses_gone.json')).toBe(false);
  });
});

describe('a damaged backup', () => {
  it('is found out, an older version is offered and taken, and the next run mends it', async () => {
    const { machine, backup } = place();
    const one = machine('one');
    one.server.add('ses_a', { messages: 2, todos: ['x'] });
    one.server.add('ses_b');
    await one.service.run();
    const older = one.server.read('ses_a');
    one.server.say('ses_a');
    await one.service.run();
    expect(await one.service.verify()).toMatchObject({ damaged: [] });

    const file = join(backup, 'sessions/project1/ses_a.json');
    const whole = readFileSync(file);
    // One bit, somewhere in a text: still perfectly good JSON.
    writeFileSync(file, readFileSync(file, 'utf8').replace('message 1', 'message 3'));
    truncateSync(join(backup, 'sessions/project1/ses_b.json'), 40);
    const { damaged } = await one.service.verify();
    expect(damaged.map(({ file: name, session, problem }) => [name, session, problem])).toEqual([
      ['sessions/project1/ses_a.json', 'ses_a', 'changed'],
      ['sessions/project1/ses_b.json', 'ses_b', 'truncated'],
    ]);
    expect(damaged[0]?.older.map(({ file: name }) => read(join(backup, name)))).toEqual([older]);
    expect(damaged[1]?.older).toEqual([]);

    const two = machine('two');
    const report = await two.service.restore();
    expect(report.restored).toMatchObject([{ id: 'ses_a', olderVersion: true, messages: 2 }]);
    expect(said(two.server.read('ses_a'))).toEqual(said(older));
    expect(report.failed).toMatchObject([{ id: 'ses_b' }]);

    expect(await one.service.run()).toMatchObject({ written: 2, problem: null });
    expect(readFileSync(file)).toEqual(whole);
    expect((await one.service.verify()).damaged).toEqual([]);
    expect([...tree(backup).values()].some((text) => text.includes('message 3'))).toBe(false);
  });

  it('gives back a version that is named', async () => {
    const { machine } = place();
    const one = machine('one');
    one.server.add('ses_a', { messages: 1 });
    for (let i = 0; i < 3; i++) {
      await one.service.run();
      one.server.say('ses_a');
    }
    const { versions } = (await one.service.preview()).sessions[0] ?? { versions: [] };
    expect(versions.map(({ messages }) => messages)).toEqual([3, 2, 1]);
    const two = machine('two');
    await two.service.restore({ sessions: ['ses_a'], versions: { ses_a: versions[2]?.file ?? '' } });
    expect(two.server.read('ses_a').messages).toHaveLength(1);
    expect((await two.service.restore({ versions: { ses_a: 'nowhere' }, existing: 'copy' })).failed).toHaveLength(1);
  });

  it('is read without a manifest, and with files that are none of ours', async () => {
    const { machine, backup } = place();
    const one = machine('one');
    one.server.add('ses_a', { messages: 1 });
    await one.service.run();
    rmSync(join(backup, 'manifests'), { recursive: true });
    one.server.say('ses_a');
    write(join(backup, 'sessions/project1/ses_a (conflicted copy).json'), JSON.stringify(one.server.read('ses_a')));
    write(join(backup, 'sessions/project1/notes.json'), '{"hello": 1}');
    write(join(backup, 'sessions/project1/half.json'), '{"info": {"id": "ses_');
    const two = machine('two');
    const preview = await two.service.preview();
    expect(preview.unreadable.map(({ file }) => file).sort()).toEqual([
      'sessions/project1/half.json',
      'sessions/project1/notes.json',
    ]);
    expect(preview.sessions.map(({ id, versions }) => [id, versions.map(({ messages }) => messages)])).toEqual([
      ['ses_a', [2, 1]],
    ]);
    await two.service.restore();
    expect(two.server.read('ses_a').messages).toHaveLength(2);
  });

  it('that is empty, or not there, takes nothing away', async () => {
    const { machine, base } = place();
    const one = machine('one');
    one.server.add('ses_a');
    await expect(one.service.restore()).rejects.toMatchObject({ reason: 'no-backup' });
    await one.service.run();
    rmSync(join(one.backup, 'sessions'), { recursive: true });
    expect(await one.service.restore()).toMatchObject({ restored: [] });
    expect(one.server.ids()).toEqual(['ses_a']);
    await expect(one.service.restore({ from: join(base, 'nowhere') })).rejects.toMatchObject({ reason: 'no-backup' });
  });
});

describe('an old backup of JSON folders', () => {
  it.each(['', 'storage'])('is read, in %j', async (below) => {
    const { machine, base } = place();
    const old = join(base, 'old');
    const put = (path: string, value: unknown): void => write(join(old, below, path), JSON.stringify(value));
    put('project/abc.json', { id: 'abc', worktree: '/w' });
    put('session/abc/ses_old.json', {
      id: 'ses_old',
      title: 'Long ago',
      projectID: 'abc',
      directory: '/w',
      time: { created: 5, updated: 9 },
    });
    put('session/abc/broken.json', 'no session');
    put('message/ses_old/msg_1.json', { id: 'msg_1', sessionID: 'ses_old', role: 'user', time: { created: 6 } });
    put('message/ses_old/msg_2.json', { id: 'msg_2', sessionID: 'ses_old', role: 'assistant', time: { created: 7 } });
    put('part/msg_1/prt_1.json', { id: 'prt_1', messageID: 'msg_1', sessionID: 'ses_old', type: 'text', text: 'hi' });
    put('part/msg_2/prt_2.json', { id: 'prt_2', messageID: 'msg_2', sessionID: 'ses_old', type: 'text', text: 'ho' });
    put('todo/ses_old.json', [{ content: 'c', status: 'pending', priority: 'low', id: '1' }]);
    const one = machine('one');
    const preview = await one.service.preview({ from: old });
    expect(preview.sessions).toMatchObject([
      { id: 'ses_old', title: 'Long ago', legacy: true, state: 'new', versions: [{ messages: 2, updatedAt: 9 }] },
    ]);
    const before = tree(old);
    const report = await one.service.restore({ from: old });
    expect(report).toMatchObject({ failed: [], restored: [{ id: 'ses_old', todos: 'restored', messages: 2 }] });
    const { info, messages } = one.server.read('ses_old');
    expect(info).toMatchObject({ title: 'Long ago', time: { created: 5, updated: 9 } });
    expect(messages).toMatchObject([
      { info: { id: 'msg_1', role: 'user' }, parts: [{ text: 'hi' }] },
      { info: { id: 'msg_2', role: 'assistant', parentID: 'msg_1' }, parts: [{ text: 'ho' }] },
    ]);
    expect(tree(old)).toEqual(before);
  });
});
