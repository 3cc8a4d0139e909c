import { ESLint } from 'eslint';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const eslint = new ESLint({ cwd: fileURLToPath(new URL('../../..', import.meta.url)) });
const rule = '@typescript-eslint/no-restricted-imports';

async function restricted(filePath: string, code: string): Promise<string[]> {
  const [result] = await eslint.lintText(code, { filePath });
  return (result?.messages ?? []).filter((message) => message.ruleId === rule).map((message) => message.message);
}

/** The arrows of docs/architecture.md, each direction that must not be taken once. */
const wrong: Array<[file: string, imported: string]> = [
  ['src/core/x.ts', 'vscode'],
  ['src/core/x.ts', '../git/x'],
  ['src/core/x.ts', '../index/x'],
  ['src/core/deep/x.ts', '../../git/x'],
  ['src/core/x.ts', 'simple-git'],
  ['src/core/x.ts', 'node:child_process'],
  ['src/git/x.ts', '../opencode/x'],
  ['src/git/x.ts', '../sync/x'],
  ['src/git/x.ts', 'vscode'],
  ['src/sync/x.ts', '../opencode/x'],
  ['src/plugin/x.ts', '../sync/x'],
  ['src/index/x.ts', '../git/x'],
  ['src/opencode/x.ts', '../git/x'],
  ['src/backup/x.ts', '../host/x'],
  ['src/backup/x.ts', '../imports/x'],
  ['src/imports/x.ts', '../git/x'],
  ['src/imports/x.ts', 'vscode'],
  ['src/plugin/x.ts', '../imports/x'],
  ['src/protocol/x.ts', '../core/x'],
  ['src/plugin/x.ts', '../host/x'],
  ['src/plugin/x.ts', 'vscode'],
  ['src/cli/x.ts', '../host/x'],
  ['src/cli/x.ts', 'vscode'],
  ['src/host/x.ts', '../cli/x'],
  ['src/host/x.ts', '../plugin/x'],
  ['webview/timeline/x.ts', '../../src/core/x'],
  ['webview/timeline/x.ts', 'vscode'],
];

const right: Array<[file: string, imported: string]> = [
  ['src/git/x.ts', '../core/x'],
  ['src/host/x.ts', 'vscode'],
  ['src/sync/x.ts', '../git/x'],
  ['src/host/x.ts', '../git/x'],
  ['src/cli/x.ts', '../index/x'],
  ['src/extension.ts', 'vscode'],
  ['webview/timeline/x.ts', '../../src/protocol/x'],
];

describe('layers', () => {
  it.each(wrong)('%s must not import %s', async (file, imported) => {
    const messages = await restricted(file, `import { x } from '${imported}';\nx();\n`);
    expect(messages, `${file} importing ${imported}`).toHaveLength(1);
  });

  it.each(right)('%s may import %s', async (file, imported) => {
    expect(await restricted(file, `import { x } from '${imported}';\nx();\n`)).toEqual([]);
  });

  it('lets types of another layer pass, but never the types of vscode', async () => {
    expect(await restricted('src/core/x.ts', `import type { X } from '../git/x';\nexport type Y = X;\n`)).toEqual([]);
    expect(await restricted('src/core/x.ts', `import type { X } from 'vscode';\nexport type Y = X;\n`)).toHaveLength(1);
  });
});
