import * as assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { reasons } from '../../src/core/errors';
import { CheckpointsError } from '../../src/core/errors';
import { commands, extensionId, views } from '../../src/host/ids';
import { advice, explain, showError } from '../../src/host/notifications';
import { activate, answering } from './helpers';

describe('activation', () => {
  before(activate);

  it('registers every command of package.json, and no other', async () => {
    const own = (await vscode.commands.getCommands(true)).filter((id) => id.startsWith('opencodeCheckpoints.'));
    // VS Code makes some for each view: focus, open, resetViewLocation and the like.
    const made = own.filter((id) => Object.values(views).some((view) => id.startsWith(`${view}.`)));
    assert.deepEqual(own.filter((id) => !made.includes(id)).sort(), Object.values(commands).sort());
  });

  it('runs beside the files, never in the browser', () => {
    const extension = vscode.extensions.getExtension(extensionId);
    assert.equal(extension?.extensionKind, vscode.ExtensionKind.Workspace);
    assert.equal(extension?.isActive, true);
  });
});

describe('errors', () => {
  before(activate);

  it('have a sentence and a way out for every reason', () => {
    assert.deepEqual(Object.keys(advice).sort(), [...reasons].sort());
    for (const reason of reasons) {
      assert.match(advice[reason].sentence, /^[A-Z].*\.$/, reason);
      // What is wrong with a value, and what to do, only its own message can say.
      if (reason !== 'invalid-argument') assert.match(advice[reason].wayOut, /^[A-Z].*\.$/, reason);
    }
  });

  it('lead only to commands that exist, under the name that the palette has for them', async () => {
    const known = new Set(await vscode.commands.getCommands());
    const manifest = vscode.extensions.getExtension(extensionId)?.packageJSON as {
      contributes: { commands: Array<{ command: string; title: string }> };
    };
    const titles = new Map(manifest.contributes.commands.map(({ command, title }) => [command, title]));
    for (const reason of reasons) {
      const { action } = advice[reason];
      if (action === undefined) continue;
      assert.ok(known.has(action.command), `${reason}: ${action.command}`);
      assert.equal(action.title, titles.get(action.command) ?? action.title, reason);
    }
  });

  it('say the particular between the sentence and the way out', () => {
    const text = explain(new CheckpointsError('disk-full', 'The volume /data has 0 bytes left'));
    assert.match(text, /^The disk is full\. The volume \/data has 0 bytes left\. Nothing was changed\./);
    // Whoever named a folder for an import is not told to set up a backup.
    const path = '/drive/old';
    const none = explain(new CheckpointsError('no-backup', `No session is at ${path}`, { details: { path } }));
    assert.match(none, /^There is no session backup\. No session is at \/drive\/old\. Look whether the path is right/);
    // It may be a clean-up, or a checkpoint that takes long.
    assert.match(
      explain(new CheckpointsError('busy', 'Another process keeps capturing. Try again.')),
      /^Another process is working on these checkpoints\. Another process keeps capturing\. /,
    );
    // Files that a reverted turn leaves alone are in its result: this is somebody else at the same thing.
    assert.equal(
      explain(new CheckpointsError('conflict', 'checkpoint.json was edited meanwhile.')),
      'Something changed it meanwhile. checkpoint.json was edited meanwhile. Look again, then repeat it.',
    );
    // What an agent deleted with all that is in it can be brought back.
    const gone = 'The folder /work is not there any more.';
    assert.equal(
      explain(new CheckpointsError('refused-root', gone, { details: { gone: true } })),
      `${gone} Its checkpoints are: make the folder again and restore one of them, or open another folder.`,
    );
  });

  it('are shown once, and a cancelled operation not at all', async () => {
    const log = vscode.window.createOutputChannel('Checkpoints test', { log: true });
    const shown = await answering([undefined], () => showError(new CheckpointsError('disk-full', ''), log));
    assert.deepEqual(
      shown.map(({ kind, items }) => [kind, items]),
      [['error', ['Clean Up Store']]],
    );
    assert.deepEqual(await answering([], () => showError(new CheckpointsError('cancelled', ''), log)), []);
    log.dispose();
  });
});
