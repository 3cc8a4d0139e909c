import * as assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { loadConfig } from '../../src/core/config';
import { commands, section } from '../../src/host/ids';
import { activate, answering, eventually, project, run, showFile, withStore } from './helpers';

describe('settings', () => {
  let folder: string;

  before(async () => {
    await activate();
    await showFile('README.md');
    await run(commands.create);
    folder = await withStore(async (api) => api.folder);
  });

  const set = (key: string, value: unknown): Thenable<void> =>
    vscode.workspace.getConfiguration(section).update(key, value, vscode.ConfigurationTarget.Global);
  const file = (): unknown => {
    const path = join(folder, 'config.json');
    return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : null;
  };

  it('reach the store only when the user sets them', async () => {
    await eventually(file, (content) => content === null, 'defaults were written down');
    await set('maxFileSize', '7 MB');
    await set('exclude', ['*.secret']);
    await eventually(
      file,
      (content) => JSON.stringify(content) === JSON.stringify({ exclude: ['*.secret'], maxFileSize: '7 MB' }),
      'not written',
    );
    const { config, problems } = loadConfig(project, folder);
    assert.equal(config.maxFileSize, 7 * 1024 * 1024);
    assert.deepEqual(config.exclude, ['*.secret']);
    assert.deepEqual(problems, []);
    await set('maxFileSize', undefined);
    await set('exclude', undefined);
    await eventually(file, (content) => content === null, 'not taken back');
  });

  it('that are not understood are told, once', async () => {
    const told =
      'The setting "opencodeCheckpoints.maxFileSize" takes a size such as "20 MB". It does not count until it is corrected.';
    const asked = await answering([], async () => {
      await set('maxFileSize', 'much');
      await eventually(file, (content) => JSON.stringify(content) === '{"maxFileSize":"much"}', 'not written');
      await set('maxCheckpoints', 50);
      await eventually(file, (content) => JSON.stringify(content)?.includes('50') === true, 'not written');
      await set('maxFileSize', undefined);
      await set('maxCheckpoints', undefined);
      await eventually(file, (content) => content === null, 'not taken back');
    });
    assert.deepEqual(
      asked.map(({ message, items }) => [message, items]),
      [[told, ['Open Settings']]],
    );
  });

  it('have defaults that the core reads as its own', () => {
    const configuration = vscode.workspace.getConfiguration(section);
    for (const key of [
      'automatic',
      'maxCheckpoints',
      'tools',
      'task.exportState',
      'task.autosaveEvery',
      'backup.generations',
    ])
      assert.deepEqual(
        configuration.inspect(key)?.defaultValue,
        (loadConfig('/nowhere', '/nowhere', {}).config as unknown as Record<string, unknown>)[key],
        key,
      );
  });

  it('do not move the store to a place that depends on where one stands', async () => {
    const config = join(process.env['XDG_CONFIG_HOME'] ?? '', 'opencode-checkpoints', 'config.json');
    const asked = await answering([], async () => {
      await set('storeLocation', 'here/or/there');
      await set('backup.path', 'here/too');
      await eventually(file, (content) => JSON.stringify(content) === '{"backup.path":"here/too"}', 'not written');
      await set('backup.path', undefined);
      await eventually(file, (content) => content === null, 'not taken back');
    });
    assert.deepEqual(asked.map(({ message }) => message).sort(), [
      'The setting "opencodeCheckpoints.backup.path" takes an absolute path. It does not count until it is corrected.',
      'The setting “opencodeCheckpoints.storeLocation” takes an absolute path, and “here/or/there” is none. Checkpoints are kept where they were.',
    ]);
    assert.equal(existsSync(config) && readFileSync(config, 'utf8').includes('here/or/there'), false);
    await set('storeLocation', undefined);
  });

  it('move the store for all hosts', async () => {
    const config = join(process.env['XDG_CONFIG_HOME'] ?? '', 'opencode-checkpoints', 'config.json');
    const elsewhere = join(process.env['XDG_DATA_HOME'] ?? '', 'moved-store');
    await set('storeLocation', elsewhere);
    await eventually(
      () => existsSync(config) && readFileSync(config, 'utf8').includes(elsewhere),
      (there) => there,
      'not in the global file',
    );
    await run(commands.create);
    await eventually(
      () => existsSync(join(elsewhere, 'workspaces')),
      (there) => there,
      'the store did not move',
    );
    await set('storeLocation', undefined);
    await eventually(
      () => readFileSync(config, 'utf8').includes('storeLocation'),
      (there) => !there,
      'not moved back',
    );
    assert.equal(await withStore(async (api) => api.folder), folder);
  });
});
