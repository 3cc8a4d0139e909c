import { join } from 'node:path';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Checkpoint, RestoreResult, Trigger } from '../../src/core/model';
import { runProgram, useBuilt } from '../git/cli-rig';
import { oldDatabase } from '../git/import-rig';
import type { RawMessage } from '../rig/opencode';
import { call, edit, shell, subagent, write } from '../rig/script';
import { generations } from './gateway-fixture';
import { PluginRig } from './plugin-fixture';

const program = useBuilt('cli');

/**
 * What belongs to a checkpoint, by the specification's own words: counted here in the raw messages, without the code under test, and
 * compared with the record and with the fork that the command line makes of it.
 */
describe.each(generations)('the messages of each kind of checkpoint on OpenCode %s', (generation) => {
  let rig: PluginRig;
  let scratch: string;
  beforeAll(async () => {
    rig = await PluginRig.start({ generation, files: { 'a.txt': 'one\n', 'b.txt': 'b\n' } });
    scratch = realpathSync(mkdtempSync(join(tmpdir(), 'checkpoints-counts-')));
  });
  afterAll(async () => {
    await rig?.dispose();
    rmSync(scratch, { recursive: true, force: true });
  });

  const answer = async <T>(...args: string[]): Promise<T> => {
    const { server } = rig;
    const ran = await runProgram(process.execPath, [program(), ...args, '--json'], {
      cwd: server.workspace,
      env: { ...server.env, OPENCODE_SERVER_URL: server.url, OPENCODE_BIN: server.binary },
    });
    expect({ args, code: ran.code, stdout: ran.stdout }).toMatchObject({ code: 0 });
    return JSON.parse(ran.stdout) as T;
  };
  const messagesOf = async (session: string): Promise<RawMessage[]> =>
    (await rig.server.messages(session)).filter(({ type }) => type === 'user' || type === 'assistant');
  /** Where it is in the list; both generations keep a call's id in its message. */
  const holding = (messages: RawMessage[], text: string): number =>
    messages.findIndex(({ raw }) => JSON.stringify(raw).includes(text));

  const fork = async (checkpoint: Checkpoint): Promise<string> => {
    const { result } = await answer<{ result: RestoreResult }>(
      'restore',
      checkpoint.id,
      '--scope',
      'conversation',
      '--force',
    );
    return result.session?.id ?? '';
  };
  /** Each fork has exactly the texts of the first N messages of its origin. */
  const expectForks = async (points: Checkpoint[], session: string): Promise<void> => {
    const origin = (await messagesOf(session)).map(({ type, text }) => `${type}: ${text}`);
    for (const point of points) {
      const made = await fork(point);
      const texts = (await messagesOf(made)).map(({ type, text }) => `${type}: ${text}`);
      const kept = texts.filter((text) => !text.startsWith('user: [Checkpoints]'));
      const what = `${point.trigger} "${point.title}"`;
      expect([what, kept]).toEqual([what, origin.slice(0, point.session?.messageCount)]);
    }
  };
  const one = (points: Checkpoint[], trigger: Trigger, title?: string): Checkpoint => {
    const found = points.filter((point) => point.trigger === trigger && (title === undefined || point.title === title));
    expect([trigger, title, found.length]).toEqual([trigger, title, 1]);
    return found[0]!;
  };
  const counts = (point: Checkpoint): [string | undefined, number | undefined] => [
    point.session?.id,
    point.session?.messageCount,
  ];

  it(
    'is what the specification says, before and after a compaction, and in a fork of a fork',
    { timeout: 600_000 },
    async () => {
      const { server } = rig;
      const session = await server.createSession('Counts');
      const empty = (await answer<{ checkpoint: Checkpoint }>('create', 'empty', '--session', session)).checkpoint;
      expect(counts(empty)).toEqual([session, 0]);
      await expectForks([empty], session);

      const first = await server.turn(session, 'the first prompt', [
        { tools: [edit('a.txt', 'one', 'half')] },
        { tools: [edit('a.txt', 'half', 'two')] },
        { tools: [call('checkpoint_create', { name: 'by the agent' })] },
        { tools: [call('checkpoint_save', { title: 'Counting', snapshotName: 'by a save' })] },
        { tools: [write('d.txt', 'd')] },
        { tools: [shell('echo more >> b.txt')] },
        { text: 'Done.' },
      ]);
      await rig.eventually(session, (all) => all.some(({ trigger }) => trigger === 'idle'), 'the idle point');
      for (const name of ['second', 'third', 'fourth', 'fifth']) await server.turn(session, `the ${name} prompt`);
      const sixth = await server.turn(session, 'the sixth prompt', [
        { tools: [write('c.txt', 'c')] },
        { tools: [write('c.txt', 'cc')] },
        { text: 'Done.' },
      ]);
      await rig.eventually(
        session,
        (all) => all.some(({ trigger }) => trigger === 'interval') && all.at(-1)?.trigger === 'idle',
        'the save at the fifth prompt after a save',
      );
      const through = await server.turn(session, 'the named prompt');
      const named = (
        await answer<{ checkpoint: Checkpoint }>('create', 'through', '--session', session, '--message', through)
      ).checkpoint;
      const all = (await answer<{ checkpoint: Checkpoint }>('create', 'by hand', '--session', session)).checkpoint;

      const before = await messagesOf(session);
      const at = (id: string): number => before.findIndex((message) => message.id === id);
      const points = await rig.list(session);
      const tools = points.filter(({ trigger }) => trigger === 'tool');
      expect(counts(one(points, 'turn', 'the first prompt'))).toEqual([session, 0]);
      expect(counts(one(points, 'turn', 'the sixth prompt'))).toEqual([session, at(sixth)]);
      expect(tools.map(counts)).toEqual(tools.map(({ cause }) => [session, holding(before, cause?.callId ?? '')]));
      expect(tools).toHaveLength(3);
      expect(counts(one(points, 'agent'))).toEqual([session, holding(before, 'checkpoint_create') + 1]);
      expect(counts(one(points, 'task'))).toEqual([session, holding(before, 'checkpoint_save') + 1]);
      expect(points.filter(({ trigger }) => trigger === 'idle').map(counts)[0]).toEqual([session, at(first) + 8]);
      expect(counts(named)).toEqual([session, at(through) + 1]);
      expect(counts(all)).toEqual([session, before.length]);
      // While the fifth prompt after the save is delivered, or its first step runs: all that is finished by then.
      const interval = one(points, 'interval').session?.messageCount ?? 0;
      expect(interval).toBeGreaterThanOrEqual(at(sixth));
      expect(interval).toBeLessThanOrEqual(at(sixth) + 2);

      await server.compact(session);
      const compacted = await rig.eventually(
        session,
        (now) => now.some(({ trigger }) => trigger === 'compaction'),
        'the point of the compaction',
      );
      await server.turn(session, 'after the compaction', [
        { tools: [subagent('look around')] },
        { tools: [edit('a.txt', 'two', 'between')] },
        { tools: [edit('a.txt', 'between', 'three')] },
        { text: 'Done.' },
      ]);
      const later = await rig.eventually(session, (now) => now.at(-1)?.trigger === 'idle', 'the last idle point');
      const after = await messagesOf(session);
      const last = later.filter(({ trigger }) => trigger === 'tool').at(-1);
      expect(counts(one(compacted, 'compaction'))).toEqual([session, before.length + (generation === 'v1' ? 2 : 0)]);
      expect(counts(last!)).toEqual([session, holding(after, last?.cause?.callId ?? '')]);
      expect(counts(later.at(-1)!)).toEqual([session, after.length]);

      const { result } = await answer<{ result: RestoreResult }>(
        'restore',
        all.id,
        '--scope',
        'files,conversation,task',
      );
      const safety = (await answer<{ checkpoint: Checkpoint }>('show', result.undo ?? '')).checkpoint;
      expect(counts(safety)).toEqual([session, after.length]);
      await answer('undo');

      await expectForks([empty, named, all, safety, ...later], session);

      const child = await fork(all);
      await server.turn(child, 'in the fork', [
        { tools: [edit('a.txt', 'three', 'x')] },
        { tools: [edit('a.txt', 'x', 'four')] },
        { text: 'Done.' },
      ]);
      await rig.eventually(child, (now) => now.at(-1)?.trigger === 'idle', 'the idle point in the fork');
      const inFork = await rig.list(child);
      const [turn] = inFork.filter(({ trigger }) => trigger === 'turn');
      const grandchild = await fork(turn!);
      await server.turn(grandchild, 'in the fork of the fork', [
        { tools: [edit('a.txt', 'four', 'y')] },
        { tools: [edit('a.txt', 'y', 'five')] },
        { text: 'Done.' },
      ]);
      await rig.eventually(grandchild, (now) => now.at(-1)?.trigger === 'idle', 'the idle point in its fork');
      for (const [id, prompt, own] of [
        [child, 'in the fork', inFork],
        [grandchild, 'in the fork of the fork', await rig.list(grandchild)],
      ] as const) {
        const raw = await messagesOf(id);
        const before = raw.findIndex(({ text }) => text === prompt);
        expect(
          own
            .filter(({ trigger }) => trigger !== 'restore')
            .map(({ trigger, session: s }) => [trigger, s?.messageCount]),
        ).toEqual([
          ['turn', before],
          // The point before the first call is the turn's: nothing had changed.
          ['tool', before + 2],
          ['idle', raw.length],
        ]);
        for (const point of own) {
          const made = await fork(point);
          const kept = (await messagesOf(made)).slice(0, point.session?.messageCount).map(({ text }) => text);
          expect(kept).toEqual(raw.slice(0, point.session?.messageCount).map(({ text }) => text));
          const rest = (await messagesOf(made)).slice(point.session?.messageCount);
          expect(rest.every(({ text }) => text.startsWith('[Checkpoints]'))).toBe(true);
        }
      }
    },
  );

  it('is what another program counted, for what was imported from it', async () => {
    const { server } = rig;
    const session = await server.createSession('Counted by others');
    await server.turn(session, 'one');
    await server.turn(session, 'two', [{ tools: [write('d.txt', 'd')] }, { text: 'Done.' }]);
    const file = join(scratch, 'checkpoints.db');
    const metadata = JSON.stringify({ directory: server.workspace });
    const rows = [1, 2, 3, 5].map((n) => ({
      id: n,
      name: `imported ${n}`,
      session_id: session,
      message_count: n,
      created_at: Date.now(),
      metadata,
    }));
    await oldDatabase(file, rows);
    await answer('import', '--from', 's1', file);
    const { checkpoints } = await answer<{ checkpoints: Checkpoint[] }>(
      'list',
      '--session',
      session,
      '--trigger',
      'import',
    );
    expect(checkpoints.map(({ session: s }) => s?.messageCount).sort()).toEqual([1, 2, 3, 5]);
    await expectForks(checkpoints, session);
  });
});
