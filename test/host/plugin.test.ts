import * as assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { commands } from '../../src/host/ids';
import { Workspaces } from '../../src/host/workspaces';
import {
  activate,
  answering,
  closeEditors,
  exists,
  opener,
  pluginOf,
  read,
  remove,
  run,
  showFile,
  write,
} from './helpers';

const file = '.opencode/plugins/opencode-checkpoints.js';

describe('OpenCode plugin', () => {
  before(async () => {
    await activate();
    await showFile('README.md');
  });
  after(async () => {
    remove(file);
    await closeEditors();
  });

  it('is installed where the user says, once', async () => {
    const asked = await answering(['This Project'], () => run(commands.installPlugin));
    assert.deepEqual(asked[0]?.items, ['$(root-folder) This Project', '$(home) All My Projects']);
    assert.match(asked[1]?.message ?? '', /^Installed as .*opencode-checkpoints\.js\. OpenCode loads it/);
    assert.match(read(file), /^\/\/ opencode-checkpoints \d+\.\d+\.\d+ [0-9a-f]{12}\n/);
    const again = await answering(['This Project'], () => run(commands.installPlugin));
    assert.equal(again[1]?.message, 'The plugin is installed already, and up to date.');
  });

  it('is not installed when the question is closed', async () => {
    remove(file);
    await answering([undefined], () => run(commands.installPlugin));
    assert.equal(exists(file), false);
  });

  it('of an older version is offered an update, once', async () => {
    write(file, '// opencode-checkpoints 0.0.1 0123456789ab\nexport default {};\n');
    const workspaces = new Workspaces(opener());
    const [root, other] = await workspaces.all();
    assert.ok(root && other);
    const plugin = pluginOf(workspaces);
    assert.equal(await plugin.state(), 'outdated');
    assert.equal(await plugin.stateOf(other), 'absent');
    const asked = await answering(['Update Plugin'], () => plugin.offerUpdate());
    assert.match(asked[0]?.message ?? '', /is version 0\.0\.1; this extension brings/);
    assert.equal(await plugin.stateOf(root), 'current');
    // The other folder still has none.
    assert.equal(await plugin.state(), 'absent');
    write(file, '// opencode-checkpoints 0.0.1 0123456789ab\nexport default {};\n');
    assert.deepEqual(await answering([], () => plugin.offerUpdate()), []);
    // What was said of one project's copy is not said of another's.
    const theirs = `${other.api.root}/${file}`;
    mkdirSync(dirname(theirs), { recursive: true });
    writeFileSync(theirs, '// opencode-checkpoints 0.0.1 0123456789ab\nexport default {};\n');
    const next = await answering([undefined], () => plugin.offerUpdate());
    rmSync(dirname(dirname(theirs)), { recursive: true });
    assert.equal(next.length, 1);
    assert.ok(next[0]?.message.includes(other.name));
    await workspaces.close();
    workspaces.dispose();
  });

  it('never replaces a file that is not ours', async () => {
    write(file, 'export default {};\n');
    const asked = await answering(['This Project'], () => run(commands.installPlugin));
    assert.equal(asked[1]?.kind, 'error');
    assert.match(asked[1]?.message ?? '', /^\S+ is not a file of ours\. Move it away first\.$/);
    assert.equal(read(file), 'export default {};\n');
  });
});
