import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Desk, runProgram, useBuilt } from './cli-rig';

const project = path.resolve(__dirname, '../..');
const tsc = path.join(project, 'node_modules/typescript/bin/tsc');

const api = useBuilt('api');
let desk: Desk;
beforeAll(() => {
  desk = new Desk('');
  desk.write({ 'a.txt': 'one\n' });
  // The package as npm would install it, beside a program that uses it by name.
  const installed = path.join(desk.top, 'node_modules/opencode-checkpoints');
  mkdirSync(path.join(installed, 'dist'), { recursive: true });
  copyFileSync(path.join(project, 'package.json'), path.join(installed, 'package.json'));
  for (const name of ['api.js', 'sql-wasm.wasm'])
    copyFileSync(path.join(path.dirname(api()), name), path.join(installed, 'dist', name));
  execFileSync(process.execPath, [path.join(project, 'build-types.mjs'), path.join(installed, 'dist/types')]);
});
afterAll(() => desk.dispose());

const compileIn = (cwd: string, args: string[]): string => {
  try {
    return execFileSync(process.execPath, [tsc, ...args], { cwd, encoding: 'utf8' });
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
};

const extension = `
import type * as vscode from 'vscode';
import type { ExtensionApi } from 'opencode-checkpoints';
export const save = async (of: vscode.Extension<ExtensionApi<vscode.Uri>>, folder: vscode.Uri): Promise<string> =>
  (await (await of.activate()).folder(folder).save({ name: 'From another extension' })).id;
`;

const source = `
import { CheckpointsError, openWorkspace, type Checkpoint, type CheckpointsApi, type ExtensionApi } from 'opencode-checkpoints';
const api: CheckpointsApi = await openWorkspace({ directory: process.argv[2]! });
const made: Checkpoint = await api.save({ name: 'typed', metadata: { a: 1 } });
export const inWindow = (window: ExtensionApi<URL>, folder: URL): CheckpointsApi => window.folder(folder);
api.on('created', ({ ids }) => ids.map((id) => id.length));
api.on('error', (error) => error.reason === 'busy');
const can = await api.canRestore('typed');
const text: string = can.valid ? String(can.plan.entries.length) : can.message;
console.log(made.name, text, (await api.list({ search: 'typed' })).length, typeof CheckpointsError);
await api.close();
`;

describe('the package for other programs', () => {
  it('has types that a strict program compiles with', () => {
    writeFileSync(path.join(desk.top, 'package.json'), '{"type":"module"}');
    writeFileSync(path.join(desk.top, 'program.ts'), source);
    writeFileSync(
      path.join(desk.top, 'wrong.ts'),
      `import { openWorkspace } from 'opencode-checkpoints';\nawait openWorkspace({ directory: 1 });\n`,
    );
    const options = [
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2022',
      '--noUncheckedIndexedAccess',
      '--outDir',
      'out',
    ];
    const types = ['--types', 'node', '--typeRoots', path.join(project, 'node_modules/@types')];
    const compile = (file: string): string => compileIn(desk.top, [...options, ...types, file]);
    expect(compile('program.ts')).toBe('');
    expect(compile('wrong.ts')).toContain('TS2322');
  });

  it.each([
    ['no types of Node', ['vscode']],
    ['neither those nor a browser’s', ['vscode', '--lib', 'es2022']],
    ['Node’s', ['vscode,node', '--lib', 'es2022']],
  ])('has types that an extension compiles with which knows VS Code’s and %s', (_, types) => {
    writeFileSync(path.join(desk.top, 'extension.ts'), extension);
    const roots = path.join(project, 'node_modules/@types');
    const options = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2022', '--typeRoots', roots];
    expect(compileIn(desk.top, [...options, '--types', ...types, 'extension.ts'])).toBe('');
  });

  it('is found by its name', async () => {
    const ran = await runProgram(process.execPath, ['out/program.js', desk.root], { cwd: desk.top, env: desk.env });
    expect(ran).toMatchObject({ code: 0, stdout: 'typed 0 1 function\n', stderr: '' });
  });
});
