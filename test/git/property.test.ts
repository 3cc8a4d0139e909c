import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Workspace } from '../../src/core/workspace';
import { hashObject } from '../../src/git/pack-writer';
import { gitBytes, picture, sandbox, type Sandbox } from './rig';

/**
 * Random edits, captures, restores, undos, redos and clean-ups on a random tree. The model is a plain picture of the
 * folder at each checkpoint: whatever happened in between, going back gives exactly that picture.
 */
const segment = fc.constantFrom('a', 'b', 'c', 'Dir', 'é', 'x y');
const pathOf = fc.array(segment, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));
const content = fc.oneof(fc.constantFrom('', 'one\n', 'two\r\n', 'same', 'diff'), fc.string({ maxLength: 40 }));

type Step =
  | { kind: 'write'; path: string; content: string; executable: boolean }
  | { kind: 'link'; path: string; target: string }
  | { kind: 'remove'; path: string }
  | { kind: 'folder'; path: string }
  | { kind: 'create' }
  | { kind: 'tool'; path: string; content: string }
  | { kind: 'restore'; pick: number }
  | { kind: 'restorePath'; pick: number; path: string }
  | { kind: 'undo' }
  | { kind: 'redo' }
  | { kind: 'delete'; pick: number }
  | { kind: 'prune' }
  | { kind: 'reopen' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant('write' as const), path: pathOf, content, executable: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('link' as const), path: pathOf, target: pathOf }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('remove' as const), path: pathOf }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('folder' as const), path: pathOf }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('create' as const) }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('tool' as const), path: pathOf, content }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('restore' as const), pick: fc.nat(50) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('restorePath' as const), pick: fc.nat(50), path: pathOf }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('undo' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('redo' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), pick: fc.nat(50) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('prune' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reopen' as const) }) },
);

class Model {
  readonly pictures = new Map<string, Map<string, string>>();
  /** Pictures before and after each restore that can be undone or redone. */
  undo: Array<Map<string, string>> = [];
  redo: Array<Map<string, string>> = [];
  dirtySinceRestore = false;

  constructor(
    readonly box: Sandbox,
    public workspace: Workspace,
  ) {}

  now(): Map<string, string> {
    return picture(this.box.root);
  }

  /** Undoing takes back what a restore touched and leaves later edits: beyond them the exact pictures are not known. */
  restored(before: Map<string, string>): void {
    if (this.dirtySinceRestore) this.undo = [];
    this.undo.push(before);
    this.redo = [];
  }

  pick(n: number): string | null {
    const ids = [...this.pictures.keys()];
    return ids.length === 0 ? null : ids[n % ids.length]!;
  }
}

async function run(model: Model, one: Step): Promise<void> {
  const { box } = model;
  switch (one.kind) {
    case 'write':
    case 'link':
    case 'remove':
    case 'folder':
      if (edit(box.root, one)) model.dirtySinceRestore = true;
      return;
    case 'create': {
      const before = model.now();
      const checkpoint = await model.workspace.create();
      expect(checkpoint.files.partial).toEqual([]);
      model.pictures.set(checkpoint.id, before);
      return;
    }
    case 'tool': {
      // The plugin's order: the old content is in the store before the tool touches the file.
      await model.workspace.create({
        trigger: 'tool',
        automatic: true,
        paths: [one.path],
        cause: { tool: 'write', callId: null, paths: [one.path] },
      });
      if (edit(box.root, { kind: 'write', path: one.path, content: one.content, executable: false }))
        model.dirtySinceRestore = true;
      return;
    }
    case 'restore': {
      const id = model.pick(one.pick);
      if (!id) return;
      const before = model.now();
      const result = await model.workspace.restore(id, { allowMassDelete: true });
      expect(result.skipped).toEqual([]);
      expect(result.kept).toEqual([]);
      expect(model.now()).toEqual(model.pictures.get(id));
      model.pictures.set(result.undo!, before);
      model.restored(before);
      model.dirtySinceRestore = false;
      return;
    }
    case 'restorePath': {
      const id = model.pick(one.pick);
      if (!id) return;
      const before = model.now();
      const then = model.pictures.get(id)!;
      const known = [...before.keys(), ...then.keys()].some(
        (p) => !p.endsWith('/') && (p === latin(one.path) || p.startsWith(`${latin(one.path)}/`)),
      );
      if (!known) return;
      const result = await model.workspace.restore(id, { allowMassDelete: true, paths: [one.path] });
      const after = model.now();
      for (const path of new Set([...before.keys(), ...then.keys(), ...after.keys()])) {
        if (path.endsWith('/')) continue;
        const inside = path === latin(one.path) || path.startsWith(`${latin(one.path)}/`);
        // A file of the checkpoint may have to give way where the rest of the tree has a folder or a file now.
        if (result.skipped.length === 0)
          expect([path, after.get(path)]).toEqual([path, (inside ? then : before).get(path)]);
      }
      model.pictures.set(result.undo!, before);
      model.restored(before);
      model.dirtySinceRestore = false;
      return;
    }
    case 'undo':
    case 'redo': {
      const from = one.kind === 'undo' ? model.undo : model.redo;
      const to = one.kind === 'undo' ? model.redo : model.undo;
      const state = await model.workspace.undoState();
      if (!state[one.kind]) return;
      const expected = from.pop();
      const before = model.now();
      const result = one.kind === 'undo' ? await model.workspace.undo() : await model.workspace.redo();
      if (!model.dirtySinceRestore && expected) expect(model.now()).toEqual(expected);
      model.pictures.set(result.undo!, before);
      to.push(before);
      // Later edits are in the safety checkpoint; from here on the exact picture of the stack is not known.
      if (model.dirtySinceRestore) {
        model.undo.length = 0;
        model.redo.length = 0;
        model.dirtySinceRestore = false;
      }
      return;
    }
    case 'delete': {
      const id = model.pick(one.pick);
      if (!id) return;
      const { trigger } = await model.workspace.resolve(id);
      if (trigger === 'restore') return;
      expect(await model.workspace.remove([id])).toEqual([id]);
      model.pictures.delete(id);
      return;
    }
    case 'prune':
      await model.workspace.prune();
      return;
    case 'reopen':
      await model.workspace.close();
      model.workspace = await box.open();
  }
}

/** The picture's names are bytes shown as Latin-1. */
const latin = (path: string): string => Buffer.from(path).toString('latin1');

/** False when the file system does not allow it. */
function edit(root: string, one: Extract<Step, { kind: 'write' | 'link' | 'remove' | 'folder' }>): boolean {
  const full = join(root, one.path);
  try {
    for (let at = dirname(full); at.length > root.length; at = dirname(at))
      if (lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink()) return false;
    if (one.kind === 'remove') {
      rmSync(full, { recursive: true });
      return true;
    }
    mkdirSync(dirname(full), { recursive: true });
    const old = lstatSync(full, { throwIfNoEntry: false });
    if (one.kind === 'folder') {
      if (old) return false;
      mkdirSync(full);
      return true;
    }
    if (old?.isDirectory()) {
      if (readdirSync(full).length > 0) return false;
      rmdirSync(full);
    } else if (old) unlinkSync(full);
    if (one.kind === 'link') symlinkSync(one.target, full);
    else {
      writeFileSync(full, one.content);
      chmodSync(full, one.executable ? 0o755 : 0o644);
    }
    return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOTDIR' || code === 'EEXIST' || code === 'ENOENT' || code === 'ELOOP') return false;
    throw error;
  }
}

/** The same work at every `npm test`; with PROPERTY_ROUNDS another one each time, to look for what nobody thought of. */
const rounds = Number(process.env.PROPERTY_ROUNDS ?? 6);
const seed = process.env.PROPERTY_ROUNDS === undefined ? { seed: 20_261_116 } : {};

it.each([
  ['in a git repository', true],
  ['in a folder without git', false],
])(
  'random work %s always comes back byte for byte',
  async (_name, git) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), async (steps) => {
        const box = sandbox({ git });
        if (git) {
          box.write('a/committed.txt', 'committed\n');
          box.git('add', '-A');
          box.git('commit', '-qm', 'one');
        }
        const untouched = gitBytes(box.root);
        const model = new Model(box, await box.open());
        for (const one of steps) await run(model, one);
        for (const [id, then] of model.pictures) {
          const { files } = await model.workspace.resolve(id);
          await model.workspace.restore(id, { allowMassDelete: true });
          expect([files.lane, model.now()]).toEqual(['scan', then]);
        }
        expect(gitBytes(box.root)).toBe(untouched);
        expect(await model.workspace.doctor()).toEqual([]);
      }),
      { numRuns: rounds, ...seed },
    );
  },
  1_800_000,
);

type Swap =
  | Extract<Step, { kind: 'write' | 'link' | 'remove' | 'create' | 'reopen' | 'prune' }>
  | { kind: 'nest'; path: string; commit: boolean }
  | { kind: 'unnest'; path: string }
  | { kind: 'many'; path: string };

const swap: fc.Arbitrary<Swap> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('write' as const), path: pathOf, content, executable: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('link' as const), path: pathOf, target: pathOf }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('remove' as const), path: pathOf }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('nest' as const), path: pathOf, commit: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('unnest' as const), path: pathOf }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('many' as const), path: pathOf }) },
  { weight: 7, arbitrary: fc.record({ kind: fc.constant('create' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reopen' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('prune' as const) }) },
);

/** A folder, in the place of whatever file or link was there, becomes a repository. */
function nest(box: Sandbox, path: string, commit: boolean): void {
  const parts = path.split('/');
  for (const [i] of parts.entries()) {
    const full = join(box.root, ...parts.slice(0, i + 1));
    if (lstatSync(full, { throwIfNoEntry: false })?.isDirectory() === false) unlinkSync(full);
  }
  box.git('init', '-q', path);
  if (commit) box.git('-C', path, 'commit', '-q', '--allow-empty', '-m', 'nested');
}

/** Files and links by mode and id: what a tree has, and what a picture of the folder makes them. */
function stored(gitDir: string, tree: string): string[] {
  const listed = execFileSync('git', [`--git-dir=${gitDir}`, 'ls-tree', '-r', '-z', tree]).toString('latin1');
  return listed.split('\0').filter(Boolean).sort();
}

function asStored(then: Map<string, string>): string[] {
  const modes: Record<string, string> = { link: '120000', exec: '100755', file: '100644' };
  const files = [...then].filter(([path]) => !path.endsWith('/'));
  const rows = files.map(([path, what]) => {
    const oid = hashObject('blob', Buffer.from(what.slice(5), 'latin1'), 'sha1');
    return `${modes[what.slice(0, 4)]} blob ${oid}\t${path}`;
  });
  return rows.sort();
}

it.each([
  ['in a git repository', true],
  ['in a folder without git', false],
])(
  'random swaps for nested repositories %s: each snapshot is what is on disk',
  async (_name, git) => {
    await fc.assert(
      fc.asyncProperty(fc.array(swap, { minLength: 15, maxLength: 40 }), async (steps) => {
        const box = sandbox({ git });
        let workspace = await box.open();
        for (const one of [...steps, { kind: 'create' as const }])
          if (one.kind === 'create') {
            const { files } = await workspace.create();
            expect(files.partial).toEqual([]);
            expect(stored(join(workspace.folder, 'snapshots.git'), files.tree)).toEqual(asStored(picture(box.root)));
          } else if (one.kind === 'reopen') {
            await workspace.close();
            workspace = await box.open();
          } else if (one.kind === 'prune') await workspace.prune();
          else if (one.kind === 'nest') nest(box, one.path, one.commit);
          else if (one.kind === 'unnest') edit(box.root, { kind: 'remove', path: `${one.path}/.git` });
          else if (one.kind === 'many') {
            // So many that the scanner's index catches up.
            for (let i = 0; i < 70; i++)
              edit(box.root, { kind: 'write', path: `${one.path}/${i}`, content: '', executable: false });
          } else edit(box.root, one);
      }),
      { numRuns: rounds, ...seed },
    );
  },
  1_800_000,
);
