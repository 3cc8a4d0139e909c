import * as assert from 'node:assert/strict';
import * as vscode from 'vscode';
import type { ExtensionApi } from '../../src/host/extension-api';
import { extensionId } from '../../src/host/ids';
import { activate, eventually, project, read, second, untrusted, withStore, write } from './helpers';

describe('API for other extensions', () => {
  let api: ExtensionApi;

  before(async () => {
    await activate();
    api = vscode.extensions.getExtension<ExtensionApi>(extensionId)?.exports as ExtensionApi;
  });

  it('works on the first folder', async () => {
    const { root, store } = await api.initialize();
    assert.equal(root, project);
    assert.equal(store, await withStore(async (other) => other.folder));
    const made = await api.save('By another extension');
    assert.equal((await api.get('By another extension'))?.id, made.id);
    assert.equal((await api.list({ limit: 1 }))[0]?.id, made.id);
    assert.equal(await api.get('no such checkpoint'), null);
  });

  it('works on any folder of the window', async () => {
    const other = api.folder(vscode.Uri.file(second));
    assert.equal((await other.initialize()).root, second);
    const made = await other.save();
    assert.equal(await api.get(made.id), null);
    assert.equal((await other.get(made.id))?.id, made.id);
  });

  it('tells what happens, and restores', async () => {
    const seen: string[] = [];
    const ends = (['created', 'restored', 'deleted'] as const).map((event) => api.on(event, () => seen.push(event)));
    write('README.md', '# For the API\n');
    const made = await api.save('Here');
    write('README.md', '# Later\n');
    assert.deepEqual(
      (await api.diff(made.id)).changes.map(({ path }) => path),
      ['README.md'],
    );
    const possible = await api.canRestore(made.id);
    assert.equal(possible.valid, true);
    const { restored } = await api.restore(made.id);
    assert.deepEqual(restored, ['README.md']);
    assert.equal(read('README.md'), '# For the API\n');
    await api.undo();
    assert.equal(read('README.md'), '# Later\n');
    await api.delete(made.id);
    await eventually(
      () => seen,
      (events) => ['created', 'restored', 'deleted'].every((event) => events.includes(event)),
      'not told',
    );
    for (const end of ends) end();
    write('README.md', '# Sample\n');
  });

  it('only looks where the folder is not trusted', async () => {
    const made = await api.save('Here');
    await untrusted(async () => {
      assert.equal((await api.get(made.id))?.id, made.id);
      for (const work of [() => api.save(), () => api.restore(made.id), () => api.undo(), () => api.delete(made.id)])
        await assert.rejects(work(), { reason: 'untrusted-folder' });
    });
    await api.delete(made.id);
  });

  it('stays open when a caller closes it', async () => {
    await api.close();
    assert.ok((await api.stats()).checkpoints > 0);
  });
});
