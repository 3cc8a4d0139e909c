import { describe, expect, it } from 'vitest';
import { type Step, traceOriginals } from '../../src/core/originals';
import type { Trigger } from '../../src/core/model';

const step = (
  id: string,
  trigger: Trigger,
  session: string | null,
  changed: string[] = [],
  more: { names?: string[]; cleared?: boolean; end?: string } = {},
): Step => ({
  checkpoint: {
    id,
    trigger,
    session: session === null ? null : { id: session, messageId: null, messageCount: 0, title: null, parent: null },
    cause: more.names ? { tool: 'edit', callId: null, paths: more.names } : null,
    metadata: more.cleared ? { originals: 'cleared' } : more.end ? { turnEnd: more.end } : {},
  },
  changed,
});
const now = (...changed: string[]): Step => ({ checkpoint: null, changed });
const trace = (session: string | null, ...steps: Step[]) => Object.fromEntries(traceOriginals(steps, session));

describe('first versions', () => {
  it('are in the checkpoint before the first change, and stay there', () => {
    expect(
      trace(
        's',
        step('c0', 'turn', 's', ['old']),
        step('c1', 'tool', 's', [], { names: ['a'] }),
        step('c2', 'tool', 's', ['a'], { names: ['b'] }),
        step('c3', 'tool', 's', ['b'], { names: ['a'] }),
        now('a', 'c'),
      ),
    ).toEqual({ a: 'c1', b: 'c2', c: 'c3' });
  });

  it('leave out what the user did after the turn', () => {
    expect(
      trace(
        's',
        step('c0', 'turn', 's'),
        step('c1', 'idle', 's', ['a']),
        step('c2', 'turn', 's', ['mine']),
        step('c3', 'idle', 's', ['b']),
        now('mine2'),
      ),
    ).toEqual({ a: 'c0', b: 'c2' });
  });

  it('leave out what the user did after a turn that left no point at its end', () => {
    expect(
      trace(
        's',
        step('c0', 'turn', 's', [], { end: 'c0' }),
        step('c1', 'turn', 's', ['mine']),
        step('c2', 'tool', 's', ['a'], { names: ['b'], end: 'c2' }),
        step('c3', 'manual', 's', ['mine2']),
        step('c4', 'compaction', 's', ['mine3']),
        now('mine4'),
      ),
    ).toEqual({ a: 'c1' });
  });

  it('leave out what a restore did', () => {
    expect(
      trace(
        's',
        step('c0', 'turn', 's'),
        step('c1', 'restore', null, ['a']),
        step('c2', 'tool', 's', ['a', 'b']),
        now('c'),
      ),
    ).toEqual({
      a: 'c0',
      c: 'c2',
    });
  });

  it('tell two sessions apart by the paths their tools named', () => {
    const steps = [
      step('c0', 'turn', 's'),
      step('c1', 'turn', 't'),
      step('c2', 'tool', 's', [], { names: ['a'] }),
      step('c3', 'tool', 't', [], { names: ['b'] }),
      step('c4', 'tool', 't', ['a', 'b', 'x']),
    ];
    expect(trace('s', ...steps)).toEqual({ a: 'c3' });
    expect(trace('t', ...steps)).toEqual({ b: 'c3', x: 'c3' });
  });

  it('tell two sessions apart by calls that left no point', () => {
    const calls = [{ session: 't', tool: 'write', callId: null, paths: ['b'] }];
    const steps = [
      step('c0', 'turn', 't'),
      step('c1', 'turn', 's'),
      { ...step('c2', 'tool', 's', ['a', 'b'], { names: ['c'] }), calls },
    ];
    expect(trace('s', ...steps)).toEqual({ a: 'c1' });
    expect(trace('t', ...steps)).toEqual({ b: 'c1' });
  });

  it('give what nobody named to the one that ran a command', () => {
    const steps = [
      step('c0', 'turn', 's'),
      step('c1', 'turn', 't'),
      step('c2', 'tool', 's', [], { names: [] }),
      step('c3', 'tool', 't', [], { names: ['b'] }),
      step('c4', 'tool', 't', ['b', 'x'], { names: ['c'] }),
    ];
    expect(trace('s', ...steps)).toEqual({ x: 'c3' });
    expect(trace('t', ...steps)).toEqual({ b: 'c3' });
    const calls = [{ session: 's', tool: 'shell', callId: null, paths: [] }];
    const without = [step('c0', 'turn', 's'), step('c1', 'turn', 't'), { ...step('c2', 'tool', 't', ['x']), calls }];
    expect(trace('s', ...without)).toEqual({ x: 'c1' });
    // Both ran one: it was one of them.
    expect(trace('t', ...steps.slice(0, 4), step('c4', 'tool', 't', ['b'], { names: [] }), now('y'))).toEqual({
      b: 'c3',
      y: 'c4',
    });
  });

  it('count a manual checkpoint in the middle of a turn to nobody', () => {
    expect(
      trace('s', step('c0', 'turn', 's'), step('c1', 'manual', null, ['a']), step('c2', 'idle', 's', ['b'])),
    ).toEqual({ a: 'c0', b: 'c1' });
  });

  it('are counted anew after a clear', () => {
    const steps = [
      step('c0', 'turn', 's'),
      step('c1', 'tool', 's', ['a']),
      step('c2', 'idle', 's', ['b'], { cleared: true }),
    ];
    expect(trace('s', ...steps, step('c3', 'turn', 's'), now('a'))).toEqual({ a: 'c3' });
    expect(trace(null, ...steps)).toEqual({ a: 'c0', b: 'c1' });
    // Not by what an agent wrote into the metadata of a checkpoint of its own.
    expect(
      trace(
        's',
        step('c0', 'turn', 's'),
        step('c1', 'tool', 's', ['a']),
        step('c2', 'agent', 's', [], { cleared: true }),
      ),
    ).toEqual({ a: 'c0' });
  });

  it('without a session are those of everything', () => {
    expect(trace(null, step('c0', 'manual', null, ['x']), step('c1', 'manual', null, ['a']), now('b', 'a'))).toEqual({
      a: 'c0',
      b: 'c1',
    });
  });
});
