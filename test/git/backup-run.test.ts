import { existsSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ManifestContent } from '../../src/backup/manifest';
import { CheckpointsError } from '../../src/core/errors';
import { until } from '../rig/opencode-process';
import { filesBelow, place, read, sha256, tree, type TestMachine } from './backup-rig';

const noTrouble = { failed: [], problem: null };
const manifestOf = (backup: string): ManifestContent => {
  const [file] = filesBelow(backup, 'manifests');
  return JSON.parse(readFileSync(join(backup, file ?? ''), 'utf8')) as ManifestContent;
};

/** Every file that the manifest names is there, with the size and the hash it names; nothing else is. */
async function expectWhole(machine: TestMachine): Promise<void> {
  expect((await machine.service.verify()).damaged).toEqual([]);
  const files = tree(machine.backup);
  const { sessions } = manifestOf(machine.backup);
  const named = Object.values(sessions).flatMap((record) => [record, ...record.older]);
  for (const { file, size, sha256: hash } of named) {
    expect([file, Buffer.byteLength(files.get(file) ?? '')]).toEqual([file, size]);
    expect(sha256(files.get(file) ?? '')).toBe(hash);
  }
  const stray = [...files.keys()].filter(
    (file) => /^(sessions|versions|deleted)\//.test(file) && !file.endsWith('.todos.json'),
  );
  expect(stray.sort()).toEqual(named.map(({ file }) => file).sort());
}

describe('a backup', () => {
  it('has each session as OpenCode exports it, todos beside it, a manifest and a log', async () => {
    const { backup, machine } = place();
    const one = machine();
    one.server.add('ses_a', { todos: ['write tests'] });
    one.server.add('ses_b', { project: 'project2' });
    const report = await one.service.run();
    expect(report).toMatchObject({ path: backup, sessions: 2, written: 2, unchanged: 0, deleted: 0, ...noTrouble });
    expect(read(join(backup, 'sessions/project1/ses_a.json'))).toEqual(one.server.read('ses_a'));
    expect(read(join(backup, 'sessions/project1/ses_a.todos.json'))).toEqual([
      { content: 'write tests', status: 'pending', priority: 'low' },
    ]);
    expect(filesBelow(backup, 'sessions')).toEqual([
      'sessions/project1/ses_a.json',
      'sessions/project1/ses_a.todos.json',
      'sessions/project2/ses_b.json',
    ]);
    await expectWhole(one);
    expect(readFileSync(join(backup, 'sync.log'), 'utf8')).toMatch(/ backup 2 written .*: ok\n$/);
    expect(await one.service.status()).toMatchObject({
      state: 'idle',
      sessions: 2,
      ownSessions: 2,
      machines: 1,
      runs: 1,
    });
  });

  it('lists a thousand sessions and reads the one that changed', async () => {
    const { machine } = place();
    const one = machine();
    for (let i = 0; i < 1000; i++) one.server.add(`ses_${i}`, { messages: 3 });
    expect(await one.service.run()).toMatchObject({ written: 1000, ...noTrouble });
    one.server.asked.length = 0;
    expect(await one.service.run()).toMatchObject({ written: 0, unchanged: 1000, bytes: 0, ...noTrouble });
    expect(one.server.asked).toEqual(['listAll']);
    one.server.say('ses_500');
    one.server.asked.length = 0;
    expect(await one.service.run()).toMatchObject({ written: 1, unchanged: 999, ...noTrouble });
    expect(one.server.asked).toEqual(['listAll', 'export ses_500', 'todos ses_500']);
    expect(await one.service.status()).toMatchObject({ sessions: 1000 });
  });

  it('writes down a run that changed nothing only where that is asked for', async () => {
    const { backup, machine } = place();
    const runs = (): number => readFileSync(join(backup, 'sync.log'), 'utf8').split('\n').length - 1;
    const one = machine('one');
    one.server.add('ses_a');
    await one.service.run();
    await one.service.run();
    expect(runs()).toBe(1);
    const talkative = machine('two', { 'backup.debug': true });
    talkative.server.put(one.server.read('ses_a'));
    await talkative.service.run();
    await talkative.service.run();
    expect(runs()).toBe(3);
  });

  it('keeps the last versions of each, and the longest one of a conversation that shrank', async () => {
    const { backup, machine } = place();
    const one = machine('one', { 'backup.generations': 3 });
    one.server.add('ses_a', { messages: 2, todos: ['first'] });
    await one.service.run();
    const states = [one.server.read('ses_a')];
    for (let i = 0; i < 5; i++) {
      one.server.say('ses_a', `addition ${i}`);
      states.push(one.server.read('ses_a'));
      await one.service.run();
    }
    expect(filesBelow(backup, 'versions').filter((file) => !file.endsWith('.todos.json'))).toHaveLength(2);
    await expectWhole(one);
    const { sessions } = await one.service.preview();
    const versions = sessions[0]?.versions.map(({ file }) => read(join(backup, file)));
    expect(versions).toEqual(states.slice(-3).reverse());

    const longest = states.at(-1);
    for (let i = 0; i < 4; i++) {
      one.server.put({
        ...one.server.read('ses_a'),
        messages: [],
        info: { ...longest!.info, time: { created: 1, updated: 1_700_100_000_000 + i } },
      });
      await one.service.run();
    }
    await expectWhole(one);
    const kept = filesBelow(backup, 'versions').filter((file) => !file.endsWith('.todos.json'));
    expect(kept).toHaveLength(3);
    expect(kept.map((file) => read(join(backup, file))).map(({ messages }) => messages.length)).toContain(
      longest?.messages.length,
    );
  });

  it('reads a session once more that was at work when it was read, until it is at rest', async () => {
    const { machine } = place();
    const one = machine();
    one.server.add('ses_a', { updated: Date.now() });
    await one.service.run();
    one.server.asked.length = 0;
    // The end of a turn need not change what the list says.
    one.server.put({ ...one.server.read('ses_a'), messages: [] });
    expect(await one.service.run()).toMatchObject({ written: 1, ...noTrouble });
    expect(one.server.requests('export')).toHaveLength(1);
  });

  it('reads what events name, also when the list says nothing new, and not twice for two processes', async () => {
    const { machine } = place();
    const one = machine();
    one.server.add('ses_a');
    await one.service.run();
    one.server.put({ ...one.server.read('ses_a'), messages: [] });
    const two = machine('one');
    expect(await two.service.run()).toMatchObject({ written: 0 });
    one.service.noticed({ type: 'message', session: 'ses_a' });
    two.service.noticed({ type: 'message', session: 'ses_a' });
    expect(await one.service.run()).toMatchObject({ written: 1, ...noTrouble });
    two.server.asked.length = 0;
    expect(await two.service.run()).toMatchObject({ written: 0, ...noTrouble });
    expect(two.server.asked).toEqual(['listAll']);
  });

  it('runs once when two processes want to', async () => {
    const { machine } = place();
    const one = machine();
    for (let i = 0; i < 20; i++) one.server.add(`ses_${i}`);
    const two = machine('one');
    const reports = await Promise.all([one.service.run(), two.service.run()]);
    expect(reports.map(({ problem }) => problem?.trouble ?? 'ok').sort()).toEqual(['busy', 'ok']);
    expect(reports.reduce((sum, { written }) => sum + written, 0)).toBe(20);
    await expectWhole(one);
    expect(await two.service.status()).toMatchObject({ problem: null });
  });

  it('waits for another run when asked to, and has what changed meanwhile', async () => {
    const { machine } = place();
    const one = machine();
    for (let i = 0; i < 20; i++) one.server.add(`ses_${i}`);
    const two = machine('one');
    // Which of them begins is up to the file system.
    const reports = await Promise.all([one, two].map(({ service }) => service.run({ waitMs: 20_000 })));
    expect(reports.map(({ problem }) => problem)).toEqual([null, null]);
    expect(reports.reduce((sum, { written }) => sum + written, 0)).toBe(20);
    await expectWhole(one);
  });

  const soon = { debounceMs: 1, spacingMs: 1, patienceMs: 1, retryMs: 5 };

  it('runs by itself after an event, tells how it goes, and tries again what failed', async () => {
    const { backup, machine } = place();
    const one = machine('one', {}, soon);
    one.server.add('ses_a');
    let broken = 2;
    one.server.before = () => {
      if (broken-- > 0) throw new CheckpointsError('server-unreachable', 'No server answers');
    };
    expect(await one.service.status()).toMatchObject({ state: 'idle' });
    const seen: string[] = [];
    one.service.onDidChangeStatus(({ state }) => {
      if (seen.at(-1) !== state) seen.push(state);
    });
    one.service.noticed({ type: 'message', session: 'ses_a' });
    await until(
      () => existsSync(join(backup, 'sessions/project1/ses_a.json')) && one.service.lastStatus?.state === 'idle',
      30_000,
      () => `never saved: ${seen.join(' ')}`,
    );
    expect(seen).toEqual(['pending', 'running', 'problem', 'running', 'problem', 'running', 'idle']);
    expect(one.lines).toEqual(['backup: server: No server answers', 'backup: server: No server answers']);
  });

  it('puts a run down when its host ends, and the next one goes on', async () => {
    const { machine } = place();
    const one = machine('one', {}, soon);
    for (let i = 10; i < 40; i++) one.server.add(`ses_${i}`);
    const ended = new Promise<void>((done) => {
      one.server.before = (request) => {
        if (request === 'export ses_20') void one.service.close().then(done);
      };
    });
    one.service.noticed({ type: 'gap' });
    await ended;
    expect(one.server.requests('export')).toHaveLength(11);
    const two = machine('one');
    expect(await two.service.run()).toMatchObject({ written: 19, unchanged: 11, ...noTrouble });
    await expectWhole(two);
  });

  it('follows a session whose project got another id', async () => {
    const { backup, machine } = place();
    const one = machine();
    one.server.add('ses_a', { project: 'global' });
    await one.service.run();
    one.server.put({ ...one.server.read('ses_a'), info: { ...one.server.read('ses_a').info, projectID: 'abc123' } });
    await one.service.run();
    expect(filesBelow(backup, 'sessions')).toEqual(['sessions/abc123/ses_a.json']);
    await expectWhole(one);
    expect(await one.service.status()).toMatchObject({ sessions: 1 });
  });

  it('puts files back that somebody took out of the folder', async () => {
    const { backup, machine } = place();
    const one = machine();
    one.server.add('ses_a');
    await one.service.run();
    rmSync(join(backup, 'sessions/project1/ses_a.json'));
    expect(await one.service.run()).toMatchObject({ written: 1, ...noTrouble });
    await expectWhole(one);
  });

  it('clears away what a killed writer left long ago', async () => {
    const { backup, machine } = place();
    const one = machine();
    one.server.add('ses_a');
    await one.service.run();
    const [old, young] = ['ses_a.json.tmp-12-0123456789ab', 'ses_a.json.tmp-13-0123456789ab'].map((name) =>
      join(backup, 'sessions/project1', name),
    );
    for (const file of [old, young]) writeFileSync(file ?? '', 'half');
    utimesSync(old ?? '', 1, 1);
    await one.service.run();
    expect(existsSync(old ?? '')).toBe(false);
    expect(existsSync(young ?? '')).toBe(true);
  });

  it('needs no manifest to go on: what is there is compared, not written again', async () => {
    const { backup, machine } = place();
    const one = machine();
    one.server.add('ses_a');
    one.server.add('ses_b');
    await one.service.run();
    const [file] = filesBelow(backup, 'manifests');
    writeFileSync(join(backup, file ?? ''), '{"format":1,"sess');
    expect(await one.service.run()).toMatchObject({ written: 0, unchanged: 2, ...noTrouble });
    expect(filesBelow(backup, 'manifests').some((name) => name.includes('.corrupt-'))).toBe(true);
    rmSync(join(backup, file ?? ''));
    expect(await one.service.run()).toMatchObject({ written: 0, unchanged: 2, ...noTrouble });
  });
});

describe('a session that is gone', () => {
  const nine = (machine: TestMachine): void => {
    for (let i = 1; i <= 9; i++) machine.server.add(`ses_${i}`, { todos: ['x'] });
  };

  it('is set aside when a complete list lacks it and the server says so', async () => {
    const { backup, machine } = place();
    const one = machine();
    nine(one);
    await one.service.run();
    one.server.delete('ses_3');
    expect(await one.service.run()).toMatchObject({ deleted: 1, kept: 0, written: 0, ...noTrouble });
    expect(filesBelow(backup, 'deleted')).toEqual(['deleted/project1/ses_3.json', 'deleted/project1/ses_3.todos.json']);
    expect(filesBelow(backup, 'sessions').some((file) => file.includes('ses_3'))).toBe(false);
    await expectWhole(one);
    expect(await one.service.status()).toMatchObject({ sessions: 8, deletedSessions: 1, ownSessions: 8 });
    // It comes back, and goes again.
    one.server.add('ses_3', { messages: 5 });
    await one.service.run();
    expect(await one.service.status()).toMatchObject({ sessions: 9, deletedSessions: 0 });
    await expectWhole(one);
    one.server.delete('ses_3');
    await one.service.run();
    expect(read(join(backup, 'deleted/project1/ses_3.json')).messages).toHaveLength(5);
    await expectWhole(one);
  });

  it('is set aside at once when its deletion was announced', async () => {
    const { backup, machine } = place();
    const one = machine();
    one.server.add('ses_only');
    await one.service.run();
    one.server.delete('ses_only');
    one.service.noticed({ type: 'session', change: 'deleted', session: 'ses_only', directory: null });
    expect(await one.service.run()).toMatchObject({ deleted: 1, ...noTrouble });
    expect(filesBelow(backup, 'deleted')).toEqual(['deleted/project1/ses_only.json']);
  });

  it('stays when it is there after all, whatever was announced', async () => {
    const { backup, machine } = place();
    const one = machine();
    nine(one);
    await one.service.run();
    const { listAll } = one.server;
    one.server.listAll = async () => (await listAll.call(one.server)).slice(1);
    one.service.noticed({ type: 'session', change: 'deleted', session: 'ses_1', directory: null });
    expect(await one.service.run()).toMatchObject({ deleted: 0, ...noTrouble });
    expect(filesBelow(backup, 'deleted')).toEqual([]);
  });

  it.each([
    ['empty', 9],
    ['shrunken', 4],
  ])('stays when the source is %s', async (_what, count) => {
    const { backup, machine } = place();
    const one = machine();
    nine(one);
    await one.service.run();
    const before = filesBelow(backup, 'sessions');
    for (let i = 1; i <= count; i++) one.server.delete(`ses_${i}`);
    for (let i = 0; i < 3; i++)
      expect(await one.service.run()).toMatchObject({ deleted: 0, kept: count, written: 0, ...noTrouble });
    expect(filesBelow(backup, 'sessions')).toEqual(before);
    await expectWhole(one);
  });

  it('stays when the server cannot be asked, or fails in the middle', async () => {
    const { backup, machine } = place();
    const one = machine();
    nine(one);
    await one.service.run();
    const before = tree(backup);
    one.server.before = (request) => {
      if (request === 'listAll') throw new CheckpointsError('server-unreachable', 'No server answers');
    };
    expect((await one.service.run()).problem).toMatchObject({ trouble: 'server' });
    expect(await one.service.status()).toMatchObject({ state: 'problem', problem: { trouble: 'server' } });
    one.server.delete('ses_1');
    one.server.before = (request) => {
      if (request.startsWith('get')) throw new CheckpointsError('server-failed', 'Broken');
    };
    expect((await one.service.run()).problem).toMatchObject({ trouble: 'server' });
    expect(filesBelow(backup, 'sessions')).toEqual(
      [...before.keys()].filter((file) => file.startsWith('sessions/')).sort(),
    );
    one.server.before = () => undefined;
    expect(await one.service.run()).toMatchObject({ deleted: 1, ...noTrouble });
    expect(await one.service.status()).toMatchObject({ state: 'idle', problem: null });
  });

  it('does not keep the others from being saved when one cannot be read', async () => {
    const { backup, machine } = place();
    const one = machine();
    nine(one);
    one.server.before = (request) => {
      if (request === 'export ses_5') throw new CheckpointsError('server-failed', 'This one is broken');
    };
    const report = await one.service.run();
    expect(report).toMatchObject({ written: 8, failed: [{ id: 'ses_5' }], problem: { trouble: 'incomplete' } });
    expect(existsSync(join(backup, 'sessions/project1/ses_9.json'))).toBe(true);
    one.server.before = () => undefined;
    expect(await one.service.run()).toMatchObject({ written: 1, ...noTrouble });
  });
});

describe('two machines with one folder', () => {
  it("never delete each other's sessions", async () => {
    const { backup, machine } = place();
    const [one, two] = [machine('one'), machine('two')];
    for (let i = 1; i <= 6; i++) one.server.add(`ses_one${i}`);
    for (let i = 1; i <= 6; i++) two.server.add(`ses_two${i}`);
    await one.service.run();
    await two.service.run();
    two.server.delete('ses_two1');
    for (const { service } of [one, two, one, two]) expect(await service.run()).toMatchObject(noTrouble);
    expect(filesBelow(backup, 'sessions')).toHaveLength(11);
    expect(filesBelow(backup, 'deleted')).toEqual(['deleted/project1/ses_two1.json']);
    expect(await one.service.status()).toMatchObject({ sessions: 11, ownSessions: 6, machines: 2 });
    // One has a session of the other's too, and deletes it: the other still has it.
    for (let i = 2; i <= 6; i++) one.server.put(two.server.read(`ses_two${i}`));
    await one.service.run();
    one.server.delete('ses_two2');
    expect(await one.service.run()).toMatchObject({ deleted: 1, ...noTrouble });
    expect(existsSync(join(backup, 'sessions/project1/ses_two2.json'))).toBe(true);
    expect((await one.service.verify()).damaged).toEqual([]);
  });

  it('keep both of what they made of the same session', async () => {
    const { backup, machine } = place();
    const [one, two] = [machine('one', { 'backup.generations': 2 }), machine('two', { 'backup.generations': 2 })];
    one.server.add('ses_a');
    await one.service.run();
    two.server.put(one.server.read('ses_a'));
    expect(await two.service.run()).toMatchObject({ written: 0 });
    one.server.say('ses_a', 'said on one', 5000);
    two.server.say('ses_a', 'said on two', 1000);
    const [first, second] = [one.server.read('ses_a'), two.server.read('ses_a')];
    await one.service.run();
    // The older one does not take the newer one's place, and is saved all the same.
    expect(await two.service.run()).toMatchObject({ written: 1, ...noTrouble });
    expect(read(join(backup, 'sessions/project1/ses_a.json'))).toEqual(first);
    const all = (): unknown[] =>
      [...filesBelow(backup, 'sessions'), ...filesBelow(backup, 'versions')].map((file) => read(join(backup, file)));
    expect(all()).toContainEqual(second);
    for (let i = 0; i < 4; i++) {
      one.server.say('ses_a', `one goes on ${i}`);
      await one.service.run();
    }
    expect(all()).toContainEqual(second);
    expect(read(join(backup, 'sessions/project1/ses_a.json'))).toEqual(one.server.read('ses_a'));
    two.server.say('ses_a', 'two goes on', 60_000);
    await two.service.run();
    expect(read(join(backup, 'sessions/project1/ses_a.json'))).toEqual(two.server.read('ses_a'));
    expect(all()).toContainEqual(one.server.read('ses_a'));
    for (const { service } of [one, two]) expect((await service.verify()).damaged).toEqual([]);
  });
});
