import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { workspaceFolder } from '../../src/git/roots';
import { offeredTools } from '../../src/plugin/companion';
import { Reporter } from '../../src/plugin/reporter';

it('offers what the settings of the project say, also below its root and through a link', () => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'offered-')));
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(base, { recursive: true, force: true });
  });
  vi.stubEnv('OPENCODE_CHECKPOINTS_HOME', join(base, 'store'));
  vi.stubEnv('XDG_CONFIG_HOME', join(base, 'config'));
  const root = join(base, 'project');
  const store = workspaceFolder(join(base, 'store'), root);
  for (const folder of [join(root, 'below'), store]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(store, 'workspace.json'), '{}');
  writeFileSync(join(store, 'config.json'), JSON.stringify({ tools: 'none' }));
  symlinkSync(root, join(base, 'link'));
  symlinkSync(join(root, 'below'), join(base, 'link-below'));
  const reporter = new Reporter({ log: () => undefined, show: () => undefined });
  for (const place of ['project', 'project/below', 'link', 'link-below'])
    expect([place, offeredTools(join(base, place), reporter)]).toEqual([place, 'none']);
  expect(offeredTools(join(base, 'nowhere'), reporter)).toBe('all');
});
