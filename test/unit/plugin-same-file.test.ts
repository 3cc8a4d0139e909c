import { describe, expect, it } from 'vitest';
import { SameFile } from '../../src/plugin/same-file';

/** Whether it is over by now. */
async function isOver(waiting: Promise<unknown> | null): Promise<boolean> {
  return Promise.race([
    Promise.resolve(waiting).then(() => true),
    new Promise<boolean>((next) => setImmediate(() => next(false))),
  ]);
}

describe('calls that name the same file', () => {
  it('wait for those before them, and for no others', async () => {
    const calls = new SameFile();
    expect(calls.begin('a', 'ses_1', ['/w/x'])).toBeNull();
    expect(calls.begin('b', 'ses_1', ['/w/y'])).toBeNull();
    expect(calls.begin('shell', 'ses_1', [])).toBeNull();
    const third = calls.begin('c', 'ses_2', ['/w/y', '/w/x']);
    const fourth = calls.begin('d', 'ses_1', ['/w/x']);
    calls.end('a');
    expect([await isOver(third), await isOver(fourth)]).toEqual([false, false]);
    calls.end('b');
    expect([await isOver(third), await isOver(fourth)]).toEqual([true, false]);
    calls.end('c');
    calls.end('c');
    expect(await isOver(fourth)).toBe(true);
    calls.end('d');
    expect(calls.begin('e', 'ses_1', ['/w/x', '/w/y'])).toBeNull();
  });

  it('do not wait for a session that stopped', async () => {
    const calls = new SameFile();
    calls.begin('a', 'ses_1', ['/w/x']);
    calls.begin('b', 'ses_2', ['/w/x']);
    const waiting = calls.begin('c', 'ses_3', ['/w/x']);
    calls.endAll('ses_1');
    expect(await isOver(waiting)).toBe(false);
    calls.endAll('ses_2');
    expect(await isOver(waiting)).toBe(true);
  });
});
