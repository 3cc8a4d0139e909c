import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useBuilt, Desk, runProgram } from './cli-rig';

const api = useBuilt('api');
let desk: Desk;
beforeEach(() => {
  desk = new Desk('');
  desk.write({ 'a.txt': 'one\n' });
});
afterEach(() => desk.dispose());

const story = `
import { writeFileSync } from 'node:fs';
const root = process.argv[2];
const checkpoints = await openWorkspace({ directory: root });
const byName = await openWorkspace(root);
const seen = [];
for (const event of ['created', 'restored', 'deleted', 'pruned']) checkpoints.on(event, ({ ids }) => seen.push([event, ids.length > 0]));
checkpoints.on('error', (error) => seen.push(['error', error.reason]));
const where = await checkpoints.initialize();
const saved = await checkpoints.save('first');
const named = await checkpoints.save({ name: 'second', description: 'd', metadata: { a: 1 }, trigger: 'agent' });
writeFileSync(root + '/a.txt', 'two\\n');
const out = {
  root: where.root,
  same: (await byName.initialize()).root === where.root,
  get: (await checkpoints.get('first')).id === saved.id,
  none: await checkpoints.get('nope'),
  list: (await checkpoints.list({ limit: 1 }))[0].id === named.id,
  trigger: named.trigger,
  diff: (await checkpoints.diff('first')).changes.map((change) => change.path),
  can: (await checkpoints.canRestore('first')).valid,
  cannot: (await checkpoints.canRestore('first', { scope: ['conversation'] })).reason,
  unknown: (await checkpoints.canRestore('nope')).reason,
  restored: (await checkpoints.restore('first')).restored,
  undone: (await checkpoints.undo()).restored,
  refused: await checkpoints.restore('nope').catch((error) => [error instanceof CheckpointsError, error.reason]),
  marked: await checkpoints.save({ metadata: { turnEnd: saved.id } }).catch((error) => error.reason),
  malformed: await Promise.all(
    [{ metadata: [1] }, { metadata: 'x' }, { description: 5 }, { task: 'x' }, { session: ['ses_1'] }].map((options) =>
      checkpoints.save(options).catch((error) => error.reason),
    ),
  ),
  deleted: (await checkpoints.delete('second')).length,
  count: (await checkpoints.stats()).checkpoints,
};
await byName.close();
await checkpoints.close();
console.log(JSON.stringify({ ...out, seen }));
`;

describe('the API for Node programs', () => {
  it.each([
    [
      'ESM',
      'story.mjs',
      () => `import { CheckpointsError, openWorkspace } from ${JSON.stringify(pathToFileURL(api()).href)};\n${story}`,
    ],
    [
      'CommonJS',
      'story.cjs',
      () =>
        `const { CheckpointsError, openWorkspace } = require(${JSON.stringify(api())});\n(async () => {${story.replace(/import \{ writeFileSync \} from 'node:fs';/, "const { writeFileSync } = require('node:fs');")}})();`,
    ],
  ])('saves, compares, restores and tells (%s)', async (_kind, name, source) => {
    const file = path.join(desk.top, name);
    writeFileSync(file, source());
    const ran = await runProgram(process.execPath, [file, desk.root], { cwd: desk.top, env: desk.env });
    expect(ran.stderr).toBe('');
    const { seen, ...out } = JSON.parse(ran.stdout) as { seen: Array<[string, unknown]> } & Record<string, unknown>;
    expect(out).toEqual({
      root: desk.root,
      same: true,
      get: true,
      none: null,
      list: true,
      trigger: 'agent',
      diff: ['a.txt'],
      can: true,
      cannot: 'no-conversation',
      unknown: 'unknown-reference',
      restored: ['a.txt'],
      undone: ['a.txt'],
      refused: [true, 'unknown-reference'],
      marked: 'invalid-argument',
      malformed: Array.from({ length: 5 }, () => 'invalid-argument'),
      deleted: 1,
      count: 3,
    });
    expect(seen.map(([event]) => event)).toEqual(expect.arrayContaining(['created', 'restored', 'deleted', 'error']));
    expect(seen).toContainEqual(['error', 'unknown-reference']);
    expect(ran.code).toBe(0);
  });

  it('refuses a folder that is none', async () => {
    const file = path.join(desk.top, 'wrong.mjs');
    writeFileSync(
      file,
      `import { openWorkspace } from ${JSON.stringify(pathToFileURL(api()).href)};\nawait openWorkspace({ directory: process.argv[2] }).catch((error) => console.log(error.reason));`,
    );
    const ran = await runProgram(process.execPath, [file, path.join(desk.top, 'nowhere')], {
      cwd: desk.top,
      env: desk.env,
    });
    expect(ran).toMatchObject({ code: 0, stdout: 'invalid-argument\n' });
  });
});
