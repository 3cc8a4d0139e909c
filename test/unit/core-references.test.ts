import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CheckpointsError } from '../../src/core/errors';
import type { Checkpoint, Trigger } from '../../src/core/model';
import { triggers } from '../../src/core/model';
import { resolveReference } from '../../src/core/references';
import { nextId } from '../../src/core/ulid';
import { Records } from './records';

const origin = { machine: 'elsewhere', user: 'somebody' };

/** Newest first, as everywhere. */
function timeline(...parts: Array<[Trigger, Partial<Checkpoint>?]>): Checkpoint[] {
  const records = new Records();
  return parts.map(([trigger, rest]) => records.next(trigger, { title: trigger, ...rest })).reverse();
}

function failure(reference: string, checkpoints: Checkpoint[]): CheckpointsError {
  try {
    resolveReference(reference, checkpoints);
  } catch (error) {
    if (CheckpointsError.is(error)) return error;
    throw error;
  }
  throw new Error(`${reference} was resolved`);
}

describe('references', () => {
  const all = timeline(
    ['manual', { name: '3 fixes' }],
    ['turn', { title: 'Fix the bug' }],
    ['tool'],
    ['agent', { name: 'before refactor' }],
    ['manual', { name: 'latest' }],
    ['task', { name: 'before refactor' }],
    ['idle'],
    ['restore'],
    ['manual', { name: 'from elsewhere', origin }],
  );
  const at = (i: number): Checkpoint => all[all.length - 1 - i] as Checkpoint;

  it.each<[string, number]>([
    ['3 fixes', 0],
    ['  3 fixes ', 0],
    ['before refactor', 5],
    ['from elsewhere', 8],
    ['latest', 4],
    ['latest~0', 4],
    ['latest~1', 3],
    ['latest~2', 1],
    ['latest~3', 0],
  ])('%j', (reference, index) => expect(resolveReference(reference, all)).toBe(at(index)));

  it('finds every one by its full id, in any case', () => {
    for (const checkpoint of all) {
      expect(resolveReference(checkpoint.id, all)).toBe(checkpoint);
      expect(resolveReference(checkpoint.id.toUpperCase(), all)).toBe(checkpoint);
    }
  });

  it.each([
    ['3', /named "3"/],
    ['', /empty/],
    ['Before Refactor', /case-sensitive.*"before refactor"/],
    ['Fix the bug', /titles are not names.*cp_/],
    ['latest~4', /oldest is latest~3/],
    ['latest~99999999999999999999', /too far/],
    ['latest~', /named "latest~"/],
    ['cp_01', /at least 6/],
    [nextId(null), /No checkpoint has the id/],
  ])('%j is unknown, and the message says why', (reference, message) => {
    const error = failure(reference, all);
    expect(error.reason).toBe('unknown-reference');
    expect(error.message).toMatch(message);
  });

  it('says what is missing, and leaves the way out to who speaks', () => {
    expect(failure('nope', all).message).toBe('No checkpoint is named "nope".');
    expect(failure('cp_zzzzzzzz', all).message).toBe('No checkpoint has the id cp_zzzzzzzz.');
  });

  it('counts only what people and agents made and turns as latest', () => {
    for (const trigger of triggers) {
      const one = timeline([trigger]);
      if (['manual', 'agent', 'turn'].includes(trigger)) expect(resolveReference('latest', one)).toBe(one[0]);
      else expect(failure('latest', one).message).toMatch(/no latest yet/);
    }
  });

  it('accepts a unique prefix of six characters and refuses an ambiguous one with its candidates', () => {
    const a = { ...all[0], id: `cp_0abcde${'1'.repeat(20)}`, name: null } as Checkpoint;
    const b = { ...all[0], id: `cp_0abcdf${'1'.repeat(20)}`, name: null } as Checkpoint;
    const c = { ...all[0], id: `cp_0abcdf${'2'.repeat(20)}`, name: null, title: 'Third' } as Checkpoint;
    expect(resolveReference('cp_0abcde', [c, b, a])).toBe(a);
    expect(resolveReference('CP_0ABCDE', [c, b, a])).toBe(a);
    const error = failure('cp_0abcdf', [c, b, a]);
    expect(error.reason).toBe('ambiguous-reference');
    expect(error.details?.['candidates']).toEqual([
      expect.objectContaining({ id: c.id, title: 'Third' }),
      expect.objectContaining({ id: b.id }),
    ]);
    expect(error.message).toContain(c.id);
    const many = Array.from(
      { length: 12 },
      (_, i) => ({ ...a, id: `cp_0abcdf${String(i).padStart(20, '0')}` }) as Checkpoint,
    );
    const { message } = failure('cp_0abcdf', many);
    expect(many.filter(({ id }) => !message.includes(id))).toEqual([]);
    expect(failure('cp_0abcd', [c, b, a]).reason).toBe('unknown-reference');
    expect(failure('0abcde', [c, b, a]).reason).toBe('unknown-reference');
  });

  it('lets neither a name hide an id nor a prefix hide a name', () => {
    const first = at(0);
    const impostor = { ...at(3), name: first.id };
    expect(resolveReference(first.id, [impostor, first])).toBe(first);
    const short = { ...at(3), name: first.id.slice(0, 12) };
    expect(resolveReference(first.id.slice(0, 12), [short, first])).toBe(short);
  });

  it('takes the local one when a checkpoint was fetched again', () => {
    const local = at(0);
    const fetched = { ...local, origin };
    expect(resolveReference(local.id, [fetched, local])).toBe(local);
    expect(resolveReference(local.id.slice(0, 20), [fetched, local])).toBe(local);
  });

  it('knows a name however its accents are composed', () => {
    const [named] = timeline(['manual', { name: 'caf\u00e9' }]);
    expect(resolveReference('cafe\u0301', [named as Checkpoint])).toBe(named);
  });

  it('resolves each distinct name and each full id of any timeline', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom(...triggers), fc.option(fc.string({ minLength: 1 })))), (parts) => {
        const checkpoints = timeline(
          ...parts.map(([trigger, name]): [Trigger, Partial<Checkpoint>] => [trigger, { name: name?.trim() || null }]),
        );
        for (const checkpoint of checkpoints) {
          expect(resolveReference(checkpoint.id, checkpoints)).toBe(checkpoint);
          const { name } = checkpoint;
          if (name === null || /^latest(~\d+)?$/.test(name)) continue;
          const wanted = name.normalize('NFC');
          const newest = checkpoints.find((c) => c.name?.normalize('NFC') === wanted);
          expect(resolveReference(name, checkpoints)).toBe(newest);
        }
      }),
    );
  });
});
