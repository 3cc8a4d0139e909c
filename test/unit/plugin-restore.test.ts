import { describe, expect, it } from 'vitest';
import type { PlanOptions, RestoreOptions } from '../../src/core/api';
import { CheckpointsError } from '../../src/core/errors';
import type { Checkpoint, PlanEntry, RestorePlan, RestoreResult } from '../../src/core/model';
import type { CallContext, Permission, Toolbox } from '../../src/plugin/tool-spec';
import { callTool } from '../../src/plugin/tools';
import { restoreTool } from '../../src/plugin/tools-restore';
import { Records } from './records';

const anchor = { id: 'ses_1', messageId: 'msg_1', messageCount: 2, title: null, parent: null };
const point = (change: Partial<Checkpoint> = {}): Checkpoint => ({
  ...new Records().next('manual'),
  session: anchor,
  ...change,
});

/** A workspace that plans and restores what it is told to. */
function rig(
  target: Checkpoint,
  given: {
    entries?: PlanEntry[];
    massDelete?: boolean;
    unreachable?: boolean;
    made?: Pick<RestoreResult, 'prompt' | 'todosLost'>;
    /** The session that the one which asks works for. */
    root?: string;
  } = {},
) {
  const asked: string[] = [];
  const opened: Array<[string, string | null]> = [];
  const workspace = {
    resolve: () => Promise.resolve(target),
    plan: (_: string, { scope = [] }: PlanOptions): Promise<RestorePlan> => {
      const talks = scope.includes('conversation');
      if (talks && given.unreachable)
        return Promise.reject(new CheckpointsError('server-unreachable', 'It cannot be reached'));
      const { entries = [], massDelete = false } = given;
      const conversation = { session: anchor.id, messageCount: 2, currentCount: 4 };
      return Promise.resolve({
        ...{ target: target.id, scope, entries, massDelete, fileCount: 30 },
        ...(talks ? { conversation } : {}),
      });
    },
    refuseAtWork: () => Promise.resolve(),
    restore: (_: string, { scope = [] }: RestoreOptions): Promise<RestoreResult> =>
      Promise.resolve({
        ...{ restored: [], deleted: [], kept: [], skipped: [], undo: null },
        ...(scope.includes('conversation') ? { session: { id: 'ses_2' }, ...given.made } : { session: null }),
      }),
  };
  const box = {
    companion: { open: () => Promise.resolve({ workspace }) },
    sessions: { rootOf: (session: string) => Promise.resolve(given.root ?? session) },
  } as unknown as Toolbox;
  const call: CallContext = {
    ...{ session: 'ses_1', messageId: 'msg_3', callId: 'call_1' },
    ask: ({ summary }): Promise<Permission> => {
      asked.push(summary);
      return Promise.resolve('granted');
    },
    openSession: (session, prompt) => {
      opened.push([session, prompt]);
      return Promise.resolve();
    },
  };
  const run = (args: Record<string, unknown> = {}): Promise<string> =>
    callTool(restoreTool(box), { checkpoint: target.id, ...args }, call);
  return { asked, opened, run };
}

const longPrompt = `Do this.\n${'and that '.repeat(100)}`;

describe('the tool that goes back', () => {
  it('has a sub-agent say to the agent above it that the work goes on elsewhere', async () => {
    const words = 'Say all of this to the agent that you work for: it has to stop, too.';
    expect(await rig(point(), { root: 'ses_0' }).run()).toContain(words);
    expect(await rig(point()).run()).not.toContain(words);
  });

  it.each([
    [undefined, 'files,conversation'],
    ['conversation', 'conversation'],
  ])('names the command where no server can be reached (%s)', async (scope, named) => {
    const target = point();
    const { asked, run } = rig(target, { unreachable: true, entries: [{ path: 'a', action: 'write' }] });
    const answer = await run({ scope });
    expect(answer).toContain('Nothing was changed');
    expect(answer).toContain('with 2 of ? messages');
    expect(answer.split('\n').at(-1)).toBe(`  opencode-checkpoints restore ${target.id} --scope ${named}`);
    expect(asked).toEqual([]);
  });

  it('does not ask for what only the user can confirm, and names the command', async () => {
    const target = point();
    const { asked, run } = rig(target, { massDelete: true, entries: [{ path: 'a', action: 'delete' }] });
    await expect(run({ scope: 'files' })).rejects.toThrow(
      `Restore failed: This would delete 1 of 30 files. Only the user can confirm that: ask them to run \`opencode-checkpoints restore ${target.id} --scope files --allow-mass-delete\` or to restore it in VS Code.`,
    );
    expect(asked).toEqual([]);
  });

  it("tells how many files hold the user's own changes", async () => {
    const { asked, run } = rig(point(), {
      entries: [
        { path: 'a', action: 'write', yours: true },
        { path: 'b', action: 'delete' },
        { path: 'c', action: 'keep', yours: true },
      ],
    });
    await run({ scope: 'files' });
    expect(asked[0]).toContain('write 1 and delete 1 files (1 with changes of your own)');
  });

  it('says that a turn is gone back to before its prompt', async () => {
    const turn = { number: 2, prompt: 'Fix it', model: null, agent: null, cost: null, tokens: null };
    for (const [given, said] of [
      [{ trigger: 'turn' as const, title: 'Fix it', name: null, turn }, 'Restore before "Fix it": '],
      [{ trigger: 'turn' as const, title: 'good', name: 'good', turn }, 'Restore "good": '],
    ] as const) {
      const { asked, run } = rig(point(given));
      await run({ scope: 'files' });
      expect(asked[0]).toContain(said);
    }
  });

  it('gives the prompt that was taken back, and says what the new session lacks', async () => {
    const { opened, run } = rig(point(), { made: { prompt: longPrompt, todosLost: 3 } });
    const answer = await run();
    expect(answer).toContain(`for the user to edit and send again:\n${longPrompt}`);
    expect(answer).toContain('Its 3 todos could not be carried over');
    expect(opened).toEqual([['ses_2', longPrompt]]);
    const other = rig(point());
    expect(await other.run()).not.toMatch(/send again|todos/);
    expect(other.opened).toEqual([['ses_2', null]]);
  });

  it('speaks of what was restored, and of nothing else', async () => {
    const { run } = rig(point());
    expect(await run({ scope: 'task' })).toMatch(/^Task restored from checkpoint: /);
    expect(await run({ scope: 'task' })).not.toContain('Read files again');
    expect(await run({ scope: 'files' })).toMatch(/^Files restored from checkpoint: [^]*Read files again/);
  });
});
