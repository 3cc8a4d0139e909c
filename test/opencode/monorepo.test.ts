import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { edit, shell, write } from '../rig/script';
import { generations } from './gateway-fixture';
import { PluginRig } from './plugin-fixture';

const run = promisify(execFile);

const packages = 300;
const perPackage = 190;
/** Repositories inside the repository: two with a commit, one without. */
const nested = ['vendor/parser', 'vendor/lexer', 'vendor/empty'];
const inNested = 1000;
const all = packages * perPackage + nested.length * inNested;

const content = (path: string): string => `export const value = 'one'; // ${path}\n`;
const below = (folder: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${folder}/m${index % 10}/f${index}.ts`);
const own = Array.from({ length: packages }, (_, index) => below(`packages/p${index}/src`, perPackage)).flat();
const foreign = nested.flatMap((folder) => below(folder, inNested));

/** Every byte of a folder, in one word. */
const digest = (folder: string): string => {
  const hash = createHash('sha256');
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort())
    if (lstatSync(join(folder, name)).isFile()) hash.update(name).update(readFileSync(join(folder, name)));
  return hash.digest('hex');
};

describe.each(generations)(`a monorepo of ${all.toLocaleString('en')} files, on OpenCode %s`, (generation) => {
  let rig: PluginRig;
  const at = (path: string): string => join(rig.server.workspace, path);

  beforeAll(async () => {
    // On a busy machine an agent may wait longer than usual.
    rig = await PluginRig.start({ generation, files: {}, env: { OPENCODE_CHECKPOINTS_CAPTURE_BUDGET: '60 s' } });
    await Promise.all(
      [...new Set([...own, ...foreign].map((path) => dirname(path)))].map((path) =>
        mkdir(at(path), { recursive: true }),
      ),
    );
    for (let next = [...own, ...foreign]; next.length > 0; next = next.slice(500))
      await Promise.all(next.slice(0, 500).map((path) => writeFile(at(path), content(path))));
    // All objects into one pack: as many loose ones would take a minute.
    const settings = ['user.name=Test', 'user.email=test@example.invalid', 'core.bigFileThreshold=1'];
    const git = (folder: string, ...args: string[]): Promise<unknown> =>
      run('git', [...settings.flatMap((setting) => ['-c', setting]), ...args], { cwd: at(folder) });
    for (const folder of nested) await git(folder, 'init', '-q', '-b', 'main');
    for (const folder of [...nested.slice(0, 2), '.']) {
      await git(folder, 'add', folder === '.' ? 'packages' : '.');
      await git(folder, 'commit', '-qm', 'Files');
    }
  }, 600_000);
  afterAll(() => rig?.dispose());

  it('is captured whole at the first prompt, and one turn is taken back in all of its repositories', async () => {
    const { server } = rig;
    // Of the outer one the index: git itself packs its objects in the background after so large a commit.
    const repositories = (): string[] => [
      ...nested.map((folder) => digest(at(`${folder}/.git`))),
      createHash('sha256')
        .update(readFileSync(at('.git/index')))
        .digest('hex'),
    ];
    const before = repositories();
    const [lost = '', inParser = '', inEmpty = ''] = [own[7 * perPackage], foreign[0], foreign[2 * inNested]];
    const session = await server.createSession('The monorepo');
    await server.turn(session, 'Tidy up', [
      { text: 'One file.', tools: [edit(own[0] ?? '', "'one'", "'two'")] },
      { text: 'A package.', tools: [shell(`rm -rf packages/p7 && sed -i "s/'one'/'two'/" ${inParser}`)] },
      { text: 'A new one.', tools: [write(inEmpty, 'export {};\n'), write('vendor/lexer/new.ts', 'export {};\n')] },
      { text: 'Done.' },
    ]);
    const points = await rig.eventually(session, (found) => found.at(-1)?.trigger === 'idle', 'the end of the turn');
    const [turn] = points;
    expect(turn?.files).toMatchObject({ lane: 'scan', added: all, modified: 0, deleted: 0, skipped: [], partial: [] });
    expect(existsSync(at(lost))).toBe(false);

    const { entries } = await rig.open((workspace) => workspace.plan(turn?.id ?? ''));
    expect(entries).toHaveLength(perPackage + 4);
    const result = await rig.open((workspace) => workspace.restore(turn?.id ?? ''));
    expect([result.restored.length, result.deleted]).toEqual([perPackage + 3, ['vendor/lexer/new.ts']]);
    for (const path of [own[0] ?? '', lost, inParser, inEmpty])
      expect(readFileSync(at(path), 'utf8')).toBe(content(path));
    expect(repositories()).toEqual(before);
    expect(await rig.open((workspace) => workspace.diff(turn?.id ?? ''))).toMatchObject({ changes: [] });
  }, 300_000);
});
