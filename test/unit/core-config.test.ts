import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { globalConfigPath, loadConfig, mergeConfig, storeHome } from '../../src/core/config';
import { CheckpointsError } from '../../src/core/errors';

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'checkpoints-config-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

describe('the place of the stores', () => {
  it('is refused where it is relative, since it would be another one in every folder', () => {
    const env = { XDG_CONFIG_HOME: folder(), OPENCODE_CHECKPOINTS_HOME: 'stores' };
    expect(() => storeHome(env)).toThrow(/OPENCODE_CHECKPOINTS_HOME must be an absolute path: stores/);
    mkdirSync(join(env.XDG_CONFIG_HOME, 'opencode-checkpoints'));
    writeFileSync(globalConfigPath(env), '{"storeLocation":"stores"}');
    const named = (): string => storeHome({ XDG_CONFIG_HOME: env.XDG_CONFIG_HOME });
    expect(named).toThrow(CheckpointsError);
    expect(named).toThrow(/storeLocation must be an absolute path: stores/);
  });

  it('may begin with ~, as the folder of a backup does', () => {
    const env = { XDG_CONFIG_HOME: folder() };
    mkdirSync(join(env.XDG_CONFIG_HOME, 'opencode-checkpoints'));
    writeFileSync(globalConfigPath(env), '{"storeLocation":"~/stores","opencode":{"path":"~/bin/opencode"}}');
    expect(storeHome(env)).toBe(join(homedir(), 'stores'));
    expect(storeHome({ ...env, OPENCODE_CHECKPOINTS_HOME: '~/others' })).toBe(join(homedir(), 'others'));
    expect(loadConfig(folder(), folder(), env).config).toMatchObject({
      storeLocation: join(homedir(), 'stores'),
      'opencode.path': join(homedir(), 'bin/opencode'),
    });
  });

  it('does not follow relative XDG folders, as their specification demands', () => {
    const env = { XDG_CONFIG_HOME: 'config', XDG_DATA_HOME: 'data' };
    expect(storeHome(env)).toBe(storeHome({ XDG_CONFIG_HOME: folder() }));
    expect(globalConfigPath(env)).toBe(globalConfigPath({}));
  });
});

describe('settings', () => {
  it('take one pattern for a list of one', () => {
    const { config, problems } = mergeConfig([{ source: 'x', values: { exclude: 'secret.txt' } }]);
    expect([config.exclude, problems]).toEqual([['secret.txt'], []]);
  });

  it('are true or false in the environment, and anything else is told', () => {
    const root = folder();
    const load = (value: string) =>
      loadConfig(root, join(root, 'none'), {
        XDG_CONFIG_HOME: folder(),
        OPENCODE_CHECKPOINTS_TASK_EXPORT_STATE: value,
      });
    for (const [value, wanted] of [
      ['1', true],
      ['true', true],
      ['0', false],
      ['False', false],
    ] as const)
      expect([load(value).config['task.exportState'], load(value).problems]).toEqual([wanted, []]);
    const { config, problems } = load('on');
    expect(config['task.exportState']).toBe(true);
    expect(problems.map(({ message }) => message)).toEqual([
      'environment: bad value for "task.exportState", which takes true or false.',
    ]);
  });

  it('that are not understood are named', () => {
    const root = folder();
    mkdirSync(join(root, '.opencode'));
    const file = join(root, '.opencode', 'checkpoints.json');
    const env = { XDG_CONFIG_HOME: folder() };
    const messages = (content: string): string[] => {
      writeFileSync(file, content);
      return loadConfig(root, join(root, 'none'), env).problems.map(({ message }) => message);
    };
    expect(messages('{"exclude":["a"],}')).toEqual([expect.stringContaining(`${file} is not valid JSON`)]);
    expect(messages('\uFEFF{"exclude":["a"]}')).toEqual([]);
    expect(messages('{"exclude":[1]}')).toEqual([`${file}: bad value for "exclude", which takes a list of patterns.`]);
  });
});
