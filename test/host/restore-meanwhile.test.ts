import * as assert from 'node:assert/strict';
import type { Checkpoint } from '../../src/core/model';
import { commands } from '../../src/host/ids';
import { activate, answering, closeEditors, exists, read, remove, run, withStore, write } from './helpers';

/** While the question stands on the screen an agent, or the user in another window, goes on. */
describe('restoring what changes meanwhile', () => {
  let point: Checkpoint;

  before(activate);
  beforeEach(async () => {
    write('README.md', '# Sample\n');
    write('keep.txt', 'one\n');
    point = await withStore((api) => api.create({ name: 'Before the question' }));
    write('README.md', '# Broken\n');
  });
  afterEach(async () => {
    await closeEditors();
    for (const path of ['mine.txt', 'keep.txt']) remove(path);
    write('README.md', '# Sample\n');
  });

  const restoring = (meanwhile: () => void, ...answers: Array<string | undefined>) =>
    answering(
      [
        () => {
          meanwhile();
          return 'Restore';
        },
        ...answers,
      ],
      () => run(commands.restore, point.id),
    );
  const question = 'changed after you were shown what would be restored.';

  it('asks again, and leaves out what was not shown', async () => {
    const asked = await restoring(() => {
      write('mine.txt', 'mine\n');
      write('keep.txt', 'two\n');
    }, 'Leave Them Out');
    assert.equal(asked[1]?.message, `2 files ${question}`);
    assert.equal(asked[1]?.detail, 'keep.txt\nmine.txt (would be deleted)\n\nNothing has been restored yet.');
    assert.equal(asked[2]?.message, 'Restored: 1 file written, 2 kept.');
    assert.equal(read('README.md'), '# Sample\n');
    assert.equal(read('mine.txt'), 'mine\n');
    assert.equal(read('keep.txt'), 'two\n');
  });

  it('takes back the rest as well, if that is wanted', async () => {
    const asked = await restoring(() => write('mine.txt', 'mine\n'), 'Restore It Too');
    assert.equal(asked[1]?.message, `1 file ${question}`);
    assert.equal(asked[2]?.message, 'Restored: 1 file written, 1 deleted.');
    assert.equal(exists('mine.txt'), false);
  });

  it('does nothing when that question is closed', async () => {
    const asked = await restoring(() => write('README.md', '# Written meanwhile\n'), undefined);
    assert.equal(asked[1]?.message, `1 file ${question}`);
    assert.equal(asked.length, 2);
    assert.equal(read('README.md'), '# Written meanwhile\n');
  });

  it('asks no second time where nothing changed', async () => {
    const asked = await restoring(() => undefined);
    assert.equal(asked[1]?.message, 'Restored: 1 file written.');
  });
});
