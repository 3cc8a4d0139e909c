import { chmodSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CheckpointsError } from '../../src/core/errors';
import type { Workspace } from '../../src/core/workspace';
import { sandbox, type Sandbox } from './rig';

interface Broken {
  box: Sandbox;
  gitDir: string;
}

/** What a stray hand, a clean-up program or a dying disk can do to the repository, and whether the earlier checkpoints survive it. */
const damages: Record<string, { harm(broken: Broken): void; survives: boolean; goesOn?: boolean }> = {
  'its objects are gone': {
    harm: ({ gitDir }) => rmSync(join(gitDir, 'objects'), { recursive: true }),
    survives: false,
  },
  'a file lies where its objects were': {
    harm: ({ gitDir }) => inPlaceOf(join(gitDir, 'objects')),
    survives: false,
  },
  'a file lies where its refs were': { harm: ({ gitDir }) => inPlaceOf(join(gitDir, 'refs')), survives: true },
  'a file lies where it was': { harm: ({ gitDir }) => inPlaceOf(gitDir), survives: false },
  'its configuration is garbage': {
    harm: ({ gitDir }) => writeFileSync(join(gitDir, 'config'), '[[garbage'),
    survives: true,
    goesOn: true,
  },
  'a line of its packed refs is garbage': {
    harm: ({ box, gitDir }) => {
      box.sh(`git --git-dir='${gitDir}' pack-refs --all`);
      const path = join(gitDir, 'packed-refs');
      writeFileSync(path, `${readFileSync(path, 'utf8')}no ref at all\n`);
    },
    survives: true,
    goesOn: true,
  },
  'its HEAD is gone': { harm: ({ gitDir }) => rmSync(join(gitDir, 'HEAD')), survives: true, goesOn: true },
};

function inPlaceOf(path: string): void {
  rmSync(path, { recursive: true });
  writeFileSync(path, 'something else');
}

const reasonOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'no error',
    (error: unknown) => (CheckpointsError.is(error) ? error.reason : String(error)),
  );

const names = async (workspace: Workspace): Promise<string[]> =>
  (await workspace.list()).map(({ name }) => name ?? '').sort();

describe.each(Object.entries(damages))('a store: %s', (_what, { harm, survives, goesOn = false }) => {
  it('is called broken by whoever cannot go on, and mended by the doctor', async () => {
    const box = sandbox();
    box.write('a.txt', 'one');
    box.git('add', '-A');
    box.git('commit', '-qm', 'one');
    const running = await box.open();
    await running.create({ name: 'before' });
    const gitDir = join(running.folder, 'snapshots.git');
    harm({ box, gitDir });

    // By the scan and by the fast lane: whoever meets it says the same, so that it is told once.
    box.write('a.txt', 'two');
    const expected = goesOn ? 'no error' : 'store-broken';
    expect(await reasonOf(running.create({ name: 'scanned' }))).toBe(expected);
    expect(await reasonOf(running.create({ name: 'named', paths: ['a.txt'] }))).toBe(expected);

    const doctor = await box.open();
    const found = await doctor.doctor();
    expect(found.map(({ repaired }) => repaired)).not.toContain(true);
    expect(found.length).toBeGreaterThan(0);
    if (survives) expect(found.map(({ reason }) => reason)).not.toContain('object-missing');
    await doctor.doctor({ repair: true });
    // git takes it for a repository again; else this throws.
    box.sh(`git --git-dir='${gitDir}' for-each-ref --format='%(refname)'`);

    // The process that met it goes on, too, without being started anew.
    await running.create({ name: 'after' });
    await running.create({ name: 'after, by name', paths: ['a.txt'] });
    expect(Buffer.from(await running.cat('after', 'a.txt')).toString()).toBe('two');
    const made = ['after', 'after, by name', ...(goesOn ? ['scanned', 'named'] : []), ...(survives ? ['before'] : [])];
    expect(await names(running)).toEqual(made.sort());
    if (survives) expect(Buffer.from(await running.cat('before', 'a.txt')).toString()).toBe('one');
  });
});

describe('a store whose base is lost', () => {
  it('costs a scan, and is not called busy', async () => {
    const box = sandbox();
    box.write('a.txt', 'one');
    const workspace = await box.open();
    await workspace.create({ name: 'before' });
    const base = join(workspace.folder, 'snapshots.git', 'refs', 'base');
    writeFileSync(base, `${'12'.repeat(20)}\n`);
    box.write('a.txt', 'two');
    const made = await workspace.create({ name: 'after', paths: ['a.txt'] });
    expect(made.files).toMatchObject({ lane: 'scan', paths: ['a.txt'] });
    expect(await workspace.doctor()).toEqual([]);
  });
});

describe('a store whose packs are cut off', () => {
  it('is called broken, or goes on; nothing that is said to be saved is lost', async () => {
    const box = sandbox();
    box.write('a.txt', 'one');
    const workspace = await box.open();
    await workspace.create({ name: 'before' });
    const folder = join(workspace.folder, 'snapshots.git', 'objects', 'pack');
    for (const name of readdirSync(folder)) {
      chmodSync(join(folder, name), 0o644);
      writeFileSync(join(folder, name), readFileSync(join(folder, name)).subarray(0, 40));
    }
    box.write('a.txt', 'two');
    for (let attempt = 0; attempt < 2; attempt++)
      expect(await reasonOf(workspace.create({ name: `attempt ${attempt}` }))).toMatch(/^(store-broken|no error)$/);
    await workspace.doctor({ repair: true });
    const made = await workspace.create({ name: 'after' });
    expect(Buffer.from(await workspace.cat(made.id, 'a.txt')).toString()).toBe('two');
  });
});
