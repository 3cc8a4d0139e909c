import { describe, expect, it } from 'vitest';
import { parseLimit, parseMeta, parseScope, parseTrigger } from '../../src/cli/values';
import { CheckpointsError } from '../../src/core/errors';

const refused = (work: () => unknown): void => {
  try {
    work();
  } catch (error) {
    expect(CheckpointsError.is(error, 'invalid-argument')).toBe(true);
    return;
  }
  expect.fail('it was taken');
};

describe('option values', () => {
  it('limits', () => {
    expect(parseLimit(undefined)).toBeUndefined();
    expect(parseLimit('7')).toBe(7);
    for (const bad of ['0', '-1', '1.5', 'x', '', ' 1', '1e3', '99999999999999999999']) refused(() => parseLimit(bad));
  });

  it('triggers', () => {
    expect(parseTrigger('turn')).toBe('turn');
    for (const bad of ['', 'Turn', 'bogus']) refused(() => parseTrigger(bad));
  });

  it('scopes, joined or repeated, in their own order', () => {
    expect(parseScope(undefined)).toBeUndefined();
    expect(parseScope(['task,files'])).toEqual(['files', 'task']);
    expect(parseScope(['task', 'files', 'task'])).toEqual(['files', 'task']);
    for (const bad of ['', 'files,', 'all']) refused(() => parseScope([bad]));
  });

  it('metadata', () => {
    expect(parseMeta(['a=1', 'b=x=y', 'c='])).toEqual({ a: '1', b: 'x=y', c: '' });
    for (const bad of ['a', '=x', '__proto__=1', 'constructor=1', 'turnEnd=cp_1', 'originals=cleared'])
      refused(() => parseMeta([bad]));
  });
});
