import { describe, expect, it } from 'vitest';
import type { ToolCall } from '../../src/core/sessions';
import { turnAround } from '../../src/core/turn-revert';
import { promptTakenBack, todosAfter, turnAt, turnInfo, turnKey, turnsOf } from '../../src/core/turns';
import { Records } from './records';
import { conversation, message } from './session-samples';

const call = (tool: string, more: Partial<ToolCall> = {}): ToolCall => ({
  id: 'c',
  tool,
  input: {},
  status: 'completed',
  childSession: null,
  startedAt: null,
  endedAt: null,
  ...more,
});

describe('a prompt that is taken back', () => {
  const turn = { number: 1, prompt: 'Do this', model: null, agent: null, cost: null, tokens: null };
  const whole = 'Do this and that';
  const after = [message('n', 'user', { text: '[Checkpoints] x' }), message('p', 'user', { text: whole })];

  it.each([
    ['turn', after, whole],
    ['turn', [message('a', 'assistant', { text: whole })], 'Do this'],
    ['turn', [], 'Do this'],
    ['idle', after, null],
  ] as const)('is all of it where the session has it (%s)', (trigger, messages, prompt) =>
    expect(promptTakenBack({ trigger, turn }, messages)).toBe(prompt),
  );
});

describe("a checkpoint's turn", () => {
  const info = { number: 2, prompt: '', model: null, agent: null, cost: null, tokens: null };
  const records = new Records();

  it('is told by its prompt, in older records by its number', () => {
    const keyOf = (session: string | undefined, turn: typeof info | null): string | null =>
      turnKey(records.next('turn', { session, turn }));
    expect(keyOf('a', { ...info, messageId: 'msg_a' } as typeof info)).toBe('a/msg_a');
    expect(keyOf('a', info)).toBe('a/2');
    expect(keyOf('b', info)).toBe('b/2');
    expect(keyOf('a', null)).toBeNull();
  });

  it('is reverted without the one that had its number before', () => {
    const [before, after, again, idle] = (['msg_a', 'msg_b'] as const).flatMap((messageId) =>
      (['turn', 'idle'] as const).map((trigger) =>
        records.next(trigger, { session: 'a', turn: { ...info, messageId } }),
      ),
    );
    if (!before || !after || !again || !idle) throw new Error('four were made');
    expect(turnAround(idle, [before, after, again, idle])).toEqual({ before: again, after: idle });
    expect(turnAround(before, [before, after, again, idle])).toEqual({ before, after });
  });
});

describe('turns', () => {
  it('are prompts with their steps', () => {
    const turns = turnsOf(conversation('u a a i u a i'));
    expect(turns.map((turn) => [turn.number, turn.messageId, turn.steps.map(({ messageId }) => messageId)])).toEqual([
      [1, 'm1', ['m2', 'm3']],
      [2, 'm5', ['m6']],
    ]);
    expect(turns.map(({ endedAt }) => endedAt)).toEqual([3, 6]);
  });

  it('are under way until their last step is finished', () => {
    expect(turnsOf(conversation('u a*'))[0]?.endedAt).toBeNull();
    expect(turnsOf(conversation('u'))[0]?.endedAt).toBeNull();
    // Never answered, and another prompt came.
    expect(turnsOf(conversation('u u a')).map(({ endedAt }) => endedAt)).toEqual([1, 3]);
  });

  it('are not begun by programs', () => {
    const messages = [
      message('m1', 'user', { text: 'do it' }),
      message('m2', 'assistant', { tokens: 10, cost: 0.5 }),
      message('m3', 'user', { text: '', synthetic: true, type: 'compaction' }),
      message('m4', 'assistant', { tokens: 5, cost: 0.25, type: 'compaction' }),
      message('m5', 'user', { text: 'Continue', synthetic: true }),
      message('m6', 'assistant', { tokens: 1 }),
      message('m7', 'user', { text: '[Checkpoints] a.txt was restored' }),
      message('m8', 'user', { text: 'next' }),
    ];
    const turns = turnsOf(messages);
    expect(turns.map(({ prompt }) => prompt)).toEqual(['do it', 'next']);
    expect(turns[0]).toMatchObject({ tokens: 16, cost: 0.75 });
    expect(turnInfo(turns[1] as (typeof turns)[number])).toMatchObject({ number: 2, cost: null, tokens: null });
  });

  it('keep their answers when a prompt is sent into them', () => {
    const messages = [
      message('m1', 'user', { text: 'first' }),
      message('m2', 'user', { text: 'second' }),
      message('m3', 'assistant', { parentId: 'm1' }),
      message('m4', 'assistant', { parentId: 'm2' }),
      message('m5', 'assistant', { parentId: 'unknown' }),
    ];
    expect(turnsOf(messages).map(({ steps }) => steps.map(({ messageId }) => messageId))).toEqual([
      ['m3'],
      ['m4', 'm5'],
    ]);
  });

  it('have a model, an agent, an error and children', () => {
    const turns = turnsOf([
      message('m1', 'user', { model: 'p/asked', agent: 'build' }),
      message('m2', 'assistant', { model: 'p/used', agent: 'build', calls: [call('task', { childSession: 'ses_c' })] }),
      message('m3', 'assistant', { error: 'Boom', calls: [call('task', { childSession: 'ses_c' }), call('bash')] }),
    ]);
    expect(turns).toHaveLength(1);
    expect(turns[0]).toMatchObject({ model: 'p/used', agent: 'build', error: 'Boom', children: ['ses_c'] });
    expect(turnAt(turns, 'm3')?.number).toBe(1);
    expect(turnAt(turns, 'm9')).toBeNull();
  });

  it('say at most 500 characters of the prompt', () => {
    const [turn] = turnsOf([message('m1', 'user', { text: 'x'.repeat(900) })]);
    expect(turn && turnInfo(turn).prompt).toHaveLength(500);
    const [faces] = turnsOf([message('m1', 'user', { text: `x${'🙂'.repeat(900)}` })]);
    expect(faces && turnInfo(faces).prompt).toBe(`x${'🙂'.repeat(499)}`);
  });
});

describe('todos at a moment', () => {
  const made = (content: string, more: Partial<ToolCall> = {}) =>
    call('todowrite', { input: { todos: [{ content, status: 'pending', priority: 'low', id: '1' }] }, ...more });

  it('are those of the last list that was really written', () => {
    const messages = [
      message('m1', 'assistant', { calls: [made('old'), made('newer')] }),
      message('m2', 'assistant', { calls: [made('failed', { status: 'error' }), call('bash')] }),
    ];
    expect(todosAfter(messages)).toEqual([{ content: 'newer', status: 'pending', priority: 'low' }]);
    expect(todosAfter(messages.slice(1))).toBeNull();
  });

  it('leave out what is none', () => {
    const input = { todos: [{ content: 'ok', status: 'pending', priority: 'low' }, null, 5, { content: 1 }] };
    expect(todosAfter([message('m1', 'assistant', { calls: [call('todowrite', { input })] })])).toHaveLength(1);
  });
});
