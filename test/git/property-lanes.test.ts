import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Workspace } from '../../src/core/workspace';
import { hashObject } from '../../src/git/pack-writer';
import { sandbox, type Sandbox } from './rig';

/**
 * Two windows on one folder whose user edits, changes ignore files and uses git, while an agent's tools name what they are about to change. A scan
 * has what git would take, what tools named and what was captured before; the fast lane has what a scan would have, where every
 * change was named. The oracles are git's own list of files and the disk.
 */
const folder = fc.constantFrom('', 'src/', 'src/deep/', 'build/', 'lib/');
const name = fc.constantFrom('a.txt', 'b.txt', 'c.log', 'd.gen', 'e');
const path = fc.tuple(folder, name).map(([at, last]) => at + last);
const content = fc.constantFrom('', 'one\n', 'two\r\n', 'same', 'diff', 'x'.repeat(5000));
const rules = fc.constantFrom('', '*.log\n', '*.gen\nbuild/\n', '*.log\n!src/c.log\n', 'lib\n', '*\n!*.txt\n!*/\n');
const verbs = fc.constantFrom(
  ['add', '-A'],
  ['commit', '-qam', 'one'],
  ['reset', '-q'],
  ['reset', '-q', '--hard'],
  ['stash', '-q', '-u'],
  ['stash', 'pop', '-q'],
  ['gc', '-q', '--prune=now'],
  ['update-index', '--split-index'],
);
const pathVerbs = fc.constantFrom(
  ['add', '-f'],
  ['rm', '-q', '--cached'],
  ['checkout', '-q', '--'],
  ['update-index', '--assume-unchanged'],
);
const who = fc.constantFrom(0, 1);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('write' as const), path, content }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('remove' as const), path }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('swap' as const), at: fc.constantFrom('lib', 'build') }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('ignore' as const), rules }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('git' as const), args: verbs }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('git' as const),
      args: fc.tuple(pathVerbs, path).map(([verb, one]) => [...verb, one]),
    }),
  },
  { weight: 7, arbitrary: fc.record({ kind: fc.constant('tool' as const), who, path, content }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('scan' as const), who }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('restore' as const), who, pick: fc.nat(50) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('prune' as const), who }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reopen' as const), who }) },
);

class World {
  readonly points: Array<{ id: string; files: Map<string, string> }> = [];
  /** What the last snapshot had: it stays while it is there. */
  captured = new Set<string>();
  /** Ignored or not, these may be in snapshots: tools named them, or a clean-up saw them. */
  readonly possible = new Set<string>();
  /** Somebody changed something that no tool named since the last scan. */
  unnamed = true;

  constructor(
    readonly box: Sandbox,
    readonly windows: Workspace[],
  ) {}

  leaf(path: string): string | null {
    if (!this.reaches(path)) return null;
    const full = join(this.box.root, path);
    const stat = lstatSync(full, { throwIfNoEntry: false });
    if (stat?.isSymbolicLink()) return hashObject('blob', Buffer.from(readlinkSync(full)), 'sha1');
    return stat?.isFile() ? hashObject('blob', readFileSync(full), 'sha1') : null;
  }

  /** Every folder on the way is one. */
  reaches(path: string): boolean {
    const parents = path.split('/').slice(0, -1);
    const isFolder = (_: string, i: number): boolean =>
      lstatSync(join(this.box.root, ...parents.slice(0, i + 1)), { throwIfNoEntry: false })?.isDirectory() ?? false;
    return parents.every(isFolder);
  }

  write(path: string, content: string): boolean {
    try {
      const full = join(this.box.root, path);
      mkdirSync(dirname(full), { recursive: true });
      if (!this.reaches(path) || lstatSync(full, { throwIfNoEntry: false })?.isDirectory()) return false;
      rmSync(full, { force: true });
      writeFileSync(full, content);
      return true;
    } catch {
      return false; // a file or a dangling link is on the way
    }
  }

  git(...args: string[]): string {
    try {
      return this.box.git(...args);
    } catch {
      return ''; // nothing to stash, no such path
    }
  }

  expected(): Set<string> {
    const listed = this.git('ls-files', '-z', '-c', '-o', '--exclude-standard').split('\0').filter(Boolean);
    return new Set([...listed, ...this.captured].filter((one) => this.leaf(one) !== null));
  }

  stored(tree: string): Map<string, string> {
    const gitDir = join(this.windows[0]!.folder, 'snapshots.git');
    const rows = execFileSync('git', [`--git-dir=${gitDir}`, 'ls-tree', '-r', '-z', tree])
      .toString()
      .split('\0');
    return new Map(rows.filter(Boolean).map((row) => [row.slice(row.indexOf('\t') + 1), row.split(/[ \t]/)[2]!]));
  }

  /** A scan's tree is the disk, and holds all that it must and nothing that it must not. */
  check(files: Map<string, string>, expected: Set<string>): void {
    for (const one of expected) expect([one, files.has(one)]).toEqual([one, true]);
    for (const [one, oid] of files) {
      expect([one, this.leaf(one)]).toEqual([one, oid]);
      expect([one, expected.has(one) || this.possible.has(one)]).toEqual([one, true]);
    }
  }
}

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function run(world: World, one: Step): Promise<void> {
  const { box, windows } = world;
  const edited = (changed: boolean): void => void (world.unnamed ||= changed);
  switch (one.kind) {
    case 'write':
      return edited(world.write(one.path, one.content));
    case 'remove':
      if (world.leaf(one.path) === null) return;
      rmSync(join(box.root, one.path));
      return edited(true);
    case 'swap':
      rmSync(join(box.root, one.at), { recursive: true, force: true });
      symlinkSync('src', join(box.root, one.at));
      return edited(true);
    case 'ignore':
      writeFileSync(join(box.root, '.gitignore'), one.rules);
      return edited(true);
    case 'git':
      world.git(...one.args);
      return edited(true);
    case 'tool': {
      if (!world.reaches(one.path) && lstatSync(join(box.root, dirname(one.path)), { throwIfNoEntry: false })) return;
      const cause = { tool: 'write', callId: null, paths: [one.path] };
      const { id, files } = await windows[one.who]!.create({ trigger: 'tool', paths: [one.path], cause });
      expect(files.partial).toEqual([]);
      const stored = world.stored(files.tree);
      expect([one.path, stored.get(one.path) ?? null]).toEqual([one.path, world.leaf(one.path)]);
      world.possible.add(one.path);
      world.captured = new Set([...stored.keys(), one.path]);
      if (files.lane === 'scan') world.unnamed = false;
      // The other window's full look finds nothing else.
      if (!world.unnamed) {
        expect((await windows[1 - one.who]!.diff(id)).changes).toEqual([]);
        world.points.push({ id, files: stored });
      }
      world.write(one.path, one.content);
      return;
    }
    case 'scan': {
      const expected = world.expected();
      const { id, files } = await windows[one.who]!.create();
      expect(files.partial).toEqual([]);
      const stored = world.stored(files.tree);
      world.check(stored, expected);
      world.points.push({ id, files: stored });
      world.captured = new Set(stored.keys());
      world.unnamed = false;
      return;
    }
    case 'restore': {
      const target = world.points[one.pick % Math.max(1, world.points.length)];
      if (!target) return;
      const before = new Map([...world.expected()].map((now) => [now, world.leaf(now)]));
      const window = windows[one.who]!;
      const result = await window.restore(target.id, { allowMassDelete: true });
      const left = new Set([...result.skipped, ...result.kept].map((entry) => entry.path));
      for (const [now, oid] of target.files) if (!left.has(now)) expect([now, world.leaf(now)]).toEqual([now, oid]);
      for (const now of target.files.keys()) world.possible.add(now);
      if (one.pick % 2 === 0) {
        await window.undo();
        for (const [now, oid] of before) expect([now, world.leaf(now)]).toEqual([now, oid]);
      }
      world.captured = new Set(world.stored('refs/base').keys());
      world.unnamed = true;
      return;
    }
    case 'prune':
      for (const now of world.expected()) world.possible.add(now);
      await windows[one.who]!.prune();
      return;
    case 'reopen':
      await windows[one.who]!.close();
      windows[one.who] = await box.open();
  }
}

/** The same work at every `npm test`; with PROPERTY_ROUNDS another one each time, to look for what nobody thought of. */
const rounds = Number(process.env.PROPERTY_ROUNDS ?? 4);
const seed = process.env.PROPERTY_ROUNDS === undefined ? { seed: 20_261_118 } : {};

it('two windows, both lanes, ignore files and git: each snapshot is what a full look finds', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 70 }), async (steps) => {
      const box = sandbox();
      box.write('src/a.txt', 'start');
      box.git('add', '-A');
      box.git('commit', '-qm', 'one');
      const world = new World(box, [await box.open(), await box.open()]);
      for (const one of steps) await run(world, one);
      for (const { id, files } of world.points)
        expect(world.stored((await world.windows[0]!.resolve(id)).files.tree)).toEqual(files);
      expect(await world.windows[0]!.doctor()).toEqual([]);
    }),
    { numRuns: rounds, ...seed },
  );
}, 1_800_000);
