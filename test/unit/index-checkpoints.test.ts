import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ListFilter } from '../../src/core/api';
import { CheckpointsError } from '../../src/core/errors';
import { triggers, type Checkpoint } from '../../src/core/model';
import { CheckpointIndex } from '../../src/index/checkpoint-index';
import { Records } from './records';
import { anyText } from './texts';

const wasm = { file: join(process.cwd(), 'node_modules/sql.js/dist/sql-wasm.wasm') };
let folder: string;
let index: CheckpointIndex;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'index-'));
  index = await CheckpointIndex.open({ path: join(folder, 'index.db'), wasm });
});

afterEach(async () => {
  await index.close();
  rmSync(folder, { recursive: true, force: true });
});

const commitOf = new WeakMap<Checkpoint, string>();
let commits = 0;

/** As the store would: id -> commit, and records by id. */
async function sync(checkpoints: readonly Checkpoint[]): Promise<string[]> {
  const asked: string[] = [];
  for (const c of checkpoints) if (!commitOf.has(c)) commitOf.set(c, (++commits).toString(16).padStart(40, '0'));
  const byId = new Map(checkpoints.map((c) => [c.id, c]));
  await index.sync(new Map(checkpoints.map((c) => [c.id, commitOf.get(c) as string])), async (ids) => {
    asked.push(...ids);
    return ids.map((id) => byId.get(id) as Checkpoint);
  });
  return asked;
}

const found = (filter: ListFilter): string[] => index.query(filter).map((c) => c.title);

describe('bringing the index up to date', () => {
  it('loads what is new or has another commit, and nothing else', async () => {
    const records = new Records();
    const [a, b, c] = ['a', 'b', 'c'].map((title) => records.next('manual', { title })) as [
      Checkpoint,
      Checkpoint,
      Checkpoint,
    ];
    expect(await sync([a, b])).toEqual([a.id, b.id]);
    expect(await sync([a, b])).toEqual([]);
    expect(await sync([a, b, c])).toEqual([c.id]);
    expect(found({})).toEqual(['c', 'b', 'a']);
    const renamed = { ...b, name: 'new name', title: 'new name' };
    expect(await sync([a, renamed, c])).toEqual([b.id]);
    expect(found({})).toEqual(['c', 'new name', 'a']);
    expect(found({ search: 'new' })).toEqual(['new name']);
    expect(await sync([c])).toEqual([]);
    expect(found({})).toEqual(['c']);
    expect(index.size).toBe(1);
    expect(index.get(a.id)).toBeNull();
    expect(index.get(c.id)?.title).toBe('c');
  });

  it('does without a record that was deleted meanwhile, and takes none it did not ask for', async () => {
    const records = new Records();
    const [a, b] = [records.next('manual', { title: 'a' }), records.next('manual', { title: 'b' })];
    await index.sync(new Map([[a.id, '1'.repeat(40)]]), async () => [b]);
    expect(index.size).toBe(0);
    await index.sync(new Map([[a.id, '1'.repeat(40)]]), async () => [a, a]);
    expect(found({})).toEqual(['a']);
  });

  it('stays as it was when loading fails, and the next sync succeeds', async () => {
    const a = new Records().next('manual', { title: 'a' });
    const refs = new Map([[a.id, '1'.repeat(40)]]);
    await expect(index.sync(refs, () => Promise.reject(new Error('no disk')))).rejects.toThrow('no disk');
    expect(index.size).toBe(0);
    await index.sync(refs, async () => [a]);
    expect(found({})).toEqual(['a']);
  });

  it('takes syncs one after the other', async () => {
    const records = new Records();
    const all = Array.from({ length: 20 }, (_, i) => records.next('manual', { title: String(i) }));
    await Promise.all(all.map((_, i) => sync(all.slice(0, i + 1))));
    expect(index.query().map((c) => c.id)).toEqual(all.map((c) => c.id).reverse());
  });

  it('gives each caller records of its own', async () => {
    await sync([new Records().next('manual', { title: 'a' })]);
    (index.query()[0] as Checkpoint).title = 'spoilt';
    expect(found({})).toEqual(['a']);
  });

  it('refuses to be used after it was closed', async () => {
    await index.close();
    expect(() => index.query()).toThrow(CheckpointsError);
    await expect(sync([])).rejects.toThrow(CheckpointsError);
    await index.close();
  });
});

describe('filters', () => {
  let all: Checkpoint[];

  beforeEach(async () => {
    const records = new Records(Date.UTC(2026, 0, 1));
    const hour = (n: number): number => Date.UTC(2026, 0, 1, n);
    all = [
      records.next('turn', {
        at: hour(1),
        title: 'Fix the parser',
        session: 's1',
        turn: {
          number: 1,
          prompt: 'Fix the parser\nand its tests, señor',
          model: null,
          agent: null,
          cost: null,
          tokens: null,
        },
        files: { paths: ['src/parser/lexer.ts', 'README.md'] },
      }),
      records.next('tool', {
        at: hour(2),
        title: 'Before edit src/a.ts',
        session: 's1',
        files: { paths: ['src/a.ts', 'we"ird/\n名前.ts'] },
      }),
      records.next('manual', {
        at: hour(3),
        title: '3 fixes',
        name: '3 fixes',
        description: 'before the big refactor',
        session: 's2',
        files: { paths: ['src/ab.ts'] },
      }),
      records.next('manual', {
        at: hour(4),
        title: '検索を直す 🎉 50%',
        name: '検索を直す 🎉 50%',
        files: { paths: ['+++'] },
      }),
      records.next('restore', { at: hour(5), title: 'Before restore', files: { paths: ['lib/src/a.ts'] } }),
    ];
    await sync(all);
  });

  it.each<[ListFilter, number[]]>([
    [{}, [4, 3, 2, 1, 0]],
    [{ limit: 2 }, [4, 3]],
    [{ limit: 0 }, []],
    [{ session: 's1' }, [1, 0]],
    [{ session: 'none' }, []],
    [{ trigger: 'manual' }, [3, 2]],
    [{ trigger: 'manual', session: 's2' }, [2]],
    [{ since: '2026-01-01T03:00:00.000Z' }, [4, 3, 2]],
    [{ until: '2026-01-01T02:00:00.000Z' }, [1, 0]],
    [{ since: '2026-01-01T03:00:00+01:00', until: '2026-01-01T03:00:00Z' }, [2, 1]],
    [{ path: 'src/a.ts' }, [1]],
    [{ path: './src/' }, [2, 1, 0]],
    [{ path: 'src', limit: 1 }, [2]],
    [{ path: 'src/a' }, []],
    [{ path: '.' }, [4, 3, 2, 1, 0]],
    [{ path: '+++' }, [3]],
    [{ path: 'we"ird' }, [1]],
    [{ path: 'we"ird/\n名前.ts' }, [1]],
    [{ search: '' }, [4, 3, 2, 1, 0]],
    [{ search: '   ' }, [4, 3, 2, 1, 0]],
    [{ search: 'parser' }, [0]],
    [{ search: 'PARS' }, [0]],
    [{ search: 'senor' }, [0]],
    [{ search: 'fix' }, [2, 0]],
    [{ search: 'fix big' }, [2]],
    [{ search: 'src/a.ts' }, [4, 1]],
    [{ search: 'src/a' }, [4, 2, 1]],
    [{ search: 'README' }, [0]],
    [{ search: '索を' }, [3]],
    [{ search: '🎉' }, [3]],
    [{ search: '50%' }, [3]],
    [{ search: '%' }, [3]],
    [{ search: '_' }, []],
    [{ search: '"' }, [1]],
    [{ search: '[' }, []],
    [{ search: 'restore OR parser' }, []],
    [{ search: '\ud800a' }, [4, 2, 1, 0]],
    [{ session: '\ud800' }, []],
    [{ search: 'nothing like it' }, []],
    [{ search: 'fix', trigger: 'turn' }, [0]],
    [{ search: 'fix', limit: 1 }, [2]],
  ])('%j', (filter, expected) => {
    expect(found(filter)).toEqual(expected.map((i) => (all[i] as Checkpoint).title));
  });

  it('finds a checkpoint by its id', () => {
    const wanted = all[2] as Checkpoint;
    expect(found({ search: wanted.id })).toEqual([wanted.title]);
    expect(found({ search: wanted.id.toUpperCase() })).toEqual([wanted.title]);
  });

  it.each<ListFilter>([{ limit: -1 }, { limit: 1.5 }, { limit: NaN }, { since: 'yesterday' }, { until: '' }])(
    '%j is refused',
    (filter) => {
      expect(() => index.query(filter)).toThrow(CheckpointsError);
    },
  );

  it('takes whatever is typed as text', () => {
    const operators = fc.constantFrom(
      '"',
      '*',
      '^',
      ':',
      '(',
      ')',
      '%',
      '_',
      '\\',
      "'",
      '-',
      ' ',
      'a',
      'NEAR/2',
      'OR',
      'NOT',
      'name:',
    );
    const typed = fc.oneof(anyText(), fc.string({ unit: operators }));
    fc.assert(
      fc.property(typed, (search) => {
        expect(() => index.query({ search })).not.toThrow();
        expect(() => index.query({ path: search })).not.toThrow();
      }),
    );
  });

  it('counts', () => {
    expect(index.stats()).toEqual({
      checkpoints: 5,
      sessions: 2,
      byTrigger: { turn: 1, tool: 1, manual: 2, restore: 1 },
      perSession: [
        { session: null, title: null, checkpoints: 2, first: Date.UTC(2026, 0, 1, 4), last: Date.UTC(2026, 0, 1, 5) },
        {
          session: 's2',
          title: 'Session s2',
          checkpoints: 1,
          first: Date.UTC(2026, 0, 1, 3),
          last: Date.UTC(2026, 0, 1, 3),
        },
        {
          session: 's1',
          title: 'Session s1',
          checkpoints: 2,
          first: Date.UTC(2026, 0, 1, 1),
          last: Date.UTC(2026, 0, 1, 2),
        },
      ],
    });
  });

  it('resolves references as they are resolved over all records', () => {
    expect(index.resolve('latest').title).toBe('検索を直す 🎉 50%');
    expect(index.resolve('latest~2').title).toBe('Fix the parser');
    expect(index.resolve('3 fixes').title).toBe('3 fixes');
    expect(index.resolve((all[1] as Checkpoint).id.slice(0, 15)).title).toBe('Before edit src/a.ts');
    expect(() => index.resolve('latest~3')).toThrow(/oldest is latest~2/);
    expect(() => index.resolve('3 Fixes')).toThrow(/did you mean "3 fixes"/);
    expect(() => index.resolve('Fix the parser')).toThrow(/titles are not names/);
    expect(() => index.resolve((all[1] as Checkpoint).id.slice(0, 8))).toThrow(/at least 6/);
  });
});

describe('a query, whatever the records', () => {
  it('answers as a plain scan of them would', async () => {
    const word = fc.constantFrom('alpha', 'beta', 'Gamma', 'delta-x', 'src');
    const path = fc.array(word, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));
    const input = fc.record({
      trigger: fc.constantFrom(...triggers),
      session: fc.option(word),
      name: fc.option(word),
      prompt: fc.array(word, { maxLength: 4 }).map((words) => words.join(' ')),
      paths: fc.uniqueArray(path, { maxLength: 4 }),
    });
    const filter = fc.record(
      {
        session: word,
        trigger: fc.constantFrom(...triggers),
        path,
        search: fc.constantFrom('al', 'beta', 'gam', 'delta', 'x sr'),
        limit: fc.nat(6),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(input, { maxLength: 25 }),
        fc.array(filter, { maxLength: 5 }),
        async (inputs, filters) => {
          const records = new Records();
          const all = inputs.map(({ trigger, session, name, prompt, paths }) =>
            records.next(trigger, {
              session: session ?? undefined,
              name,
              title: name ?? 'untitled',
              turn: { number: 1, prompt, model: null, agent: null, cost: null, tokens: null },
              files: { paths },
            }),
          );
          await sync(all);
          for (const wanted of filters) {
            const plain = all
              .filter((c) => wanted.session === undefined || c.session?.id === wanted.session)
              .filter((c) => wanted.trigger === undefined || c.trigger === wanted.trigger)
              .filter(
                (c) => wanted.path === undefined || c.files.paths.some((p) => `${p}/`.startsWith(`${wanted.path}/`)),
              )
              .filter((c) => {
                const words = [c.name, c.title, c.turn?.prompt, ...c.files.paths]
                  .join(' ')
                  .toLowerCase()
                  .split(/[^a-z]+/);
                return (wanted.search ?? '').split(' ').every((term) => words.some((w) => w.startsWith(term)));
              })
              .reverse()
              .slice(0, wanted.limit ?? Infinity);
            expect(index.query(wanted).map((c) => c.id)).toEqual(plain.map((c) => c.id));
          }
        },
      ),
      { numRuns: 40 },
    );
  });
});
