import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { triggers, type Checkpoint } from '../../src/core/model';
import { fromRow, toRow } from '../../src/index/rows';
import { columnNames } from '../../src/index/schema';
import { Records } from './records';
import { anyText } from './texts';

const commit = 'f'.repeat(40);
const text = anyText({ maxLength: 30 });
const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value);
const pathReason = fc.record({ path: text, reason: text, size: fc.nat() }, { requiredKeys: ['path', 'reason'] });

const records = new Records();
const anyCheckpoint: fc.Arbitrary<Checkpoint> = fc
  .record({
    name: maybe(text),
    title: text,
    description: maybe(text),
    createdAt: fc.oneof(
      fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true }).map((d) => d.toISOString()),
      fc.constant('2026-01-01T00:00:00Z'),
      fc.constant('once upon a time'),
    ),
    trigger: fc.constantFrom(...triggers),
    pinned: fc.boolean(),
    session: maybe(
      fc.record({ id: text, messageId: maybe(text), messageCount: fc.nat(), title: maybe(text), parent: maybe(text) }),
    ),
    turn: maybe(
      fc.record({
        number: fc.nat(),
        prompt: text,
        model: maybe(text),
        agent: maybe(text),
        cost: maybe(fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => n + 0)),
        tokens: maybe(fc.nat()),
      }),
    ),
    files: fc.record(
      {
        tree: fc.constant('a'.repeat(40)),
        commit: fc.constant(commit),
        lane: fc.constantFrom('scan' as const, 'paths' as const),
        added: fc.nat(),
        modified: fc.nat(),
        deleted: fc.nat(),
        paths: fc.array(text),
        skipped: fc.array(pathReason, { maxLength: 2 }),
        partial: fc.array(pathReason, { maxLength: 2 }),
        emptyDirs: fc.array(text, { maxLength: 2 }),
        uncertain: fc.array(text, { maxLength: 2 }),
      },
      {
        requiredKeys: [
          'tree',
          'commit',
          'lane',
          'added',
          'modified',
          'deleted',
          'paths',
          'skipped',
          'partial',
          'emptyDirs',
        ],
      },
    ),
    git: maybe(fc.record({ commit: maybe(text), branch: maybe(text), dirty: fc.boolean() })),
    task: maybe(
      fc.record({ title: text, status: fc.constant('done' as const), future: fc.jsonValue() }, { requiredKeys: [] }),
    ),
    cause: maybe(fc.record({ tool: text, callId: maybe(text), paths: fc.array(text, { maxLength: 3 }) })),
    origin: maybe(fc.record({ machine: text, user: text })),
    metadata: fc.dictionary(fc.constantFrom('a', 'b'), fc.jsonValue()),
  })
  .map((fields) => JSON.parse(JSON.stringify({ ...records.next('manual'), ...fields })) as Checkpoint);

describe('rows', () => {
  it('give every record back as it was', () => {
    fc.assert(
      fc.property(anyCheckpoint, (checkpoint) => {
        const row = toRow(checkpoint, commit);
        expect(row).toHaveLength(columnNames.length);
        // SQLite ends a text at a NUL and cannot hold half a surrogate pair.
        for (const value of row) if (typeof value === 'string') expect(value).not.toMatch(/[\0\p{Surrogate}]/u);
        expect(fromRow(row)).toEqual(checkpoint);
      }),
      { numRuns: 200 },
    );
  });

  it('keep fields of a newer version, wherever they are', () => {
    const plain = records.next('tool', { session: 's', turn: 1, cause: { tool: 't', callId: null, paths: [] } });
    const newer = {
      ...plain,
      novel: { a: [1] },
      session: { ...plain.session, novel: 1 },
      turn: { ...plain.turn, novel: 2 },
      files: { ...plain.files, novel: 3 },
      cause: { ...plain.cause, novel: 4 },
    } as unknown as Checkpoint;
    expect(fromRow(toRow(newer, plain.files.commit))).toEqual(newer);
  });

  it('take the commit from the ref', () => {
    expect(fromRow(toRow(records.next('manual'), 'c'.repeat(40))).files.commit).toBe('c'.repeat(40));
  });
});
