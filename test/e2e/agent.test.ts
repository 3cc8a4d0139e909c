import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startOpenCode, type OpenCode } from '../rig/opencode';
import { edit, write } from '../rig/script';
import { VsCodeSession } from '../rig/vscode-session';

const view = 'Checkpoints';
const prompt = 'Make the greeting louder';

/** First run to first rescue: the plugin is installed by a click, an agent breaks something, and it is taken back. */
describe('an agent at work', () => {
  let store: string;
  let opencode: OpenCode;
  let session: VsCodeSession;

  beforeAll(async () => {
    store = await mkdtemp(join(tmpdir(), 'checkpoints-store-'));
    const env = { OPENCODE_CHECKPOINTS_HOME: store };
    opencode = await startOpenCode({
      generation: 'v1',
      files: { 'greet.txt': 'hello\n', 'other.txt': 'one\n' },
      env,
      stopped: true,
    });
    session = await VsCodeSession.start({ folder: opencode.workspace, env });
  });
  afterAll(async () => {
    await session?.stop();
    await opencode?.dispose();
    await rm(store, { recursive: true, force: true });
  });
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail')
      await session.workbench.screenshot(`failed-agent-${task.name.replace(/\W+/g, '-')}`);
  });

  it('gets its plugin by a button of the empty view', async () => {
    const { workbench } = session;
    await workbench.openContainer(view);
    await workbench.view(view).getByRole('button', { name: 'Install OpenCode Plugin' }).waitFor();
    await workbench.screenshot('agent-1-welcome');
    await workbench.view(view).getByRole('button', { name: 'Install OpenCode Plugin' }).click();
    await workbench.pick('This Project');
    await workbench.notification('Installed as').waitFor();
    expect(session.exists('.opencode/plugins/opencode-checkpoints.js')).toBe(true);
    // What is done is not offered again.
    await workbench.view(view).getByRole('button', { name: 'Install OpenCode Plugin' }).waitFor({ state: 'detached' });
    await workbench.command('Notifications: Clear All Notifications');
  });

  it('appears in the list while it works', async () => {
    await opencode.start();
    const conversation = await opencode.createSession('Greetings');
    await opencode.turn(conversation, prompt, [
      { text: 'Louder.', tools: [edit('greet.txt', 'hello', 'HELLO')] },
      { text: 'And a new file.', tools: [write('loud.txt', 'LOUD\n')] },
      { text: 'Done.' },
    ]);
    const { workbench } = session;
    await workbench.expand(view, 'Greetings');
    await workbench.expand(view, new RegExp(`^${prompt}`));
    await workbench.row(view, 'Before the prompt').waitFor();
    await workbench.row(view, 'After the turn').waitFor();
    const texts = await workbench.rowTexts(view);
    // Before the first edit nothing had changed since the prompt: that point would only repeat the one before it.
    expect(texts.filter((text) => /^Before (edit|write)/.test(text))).toEqual([
      expect.stringMatching(/^Before write loud\.txt/),
    ]);
    await workbench.screenshot('agent-2-turn');
  });

  it('is undone as a whole, and the undo is undone', async () => {
    const { workbench } = session;
    await workbench.rowAction(view, 'Before the prompt', 'Restore Checkpoint');
    expect(await workbench.modalText()).toMatch(/1 file will be written\.\s+1 file made since then will be deleted\./);
    await workbench.modalClick('Restore');
    await workbench.notification('Restored: 1 file written, 1 deleted.').waitFor();
    expect(await session.read('greet.txt')).toBe('hello\n');
    expect(session.exists('loud.txt')).toBe(false);
    await workbench.notificationClick('Restored: 1 file written', 'Undo');
    await workbench.notification('Undone: 2 files written.').waitFor();
    expect(await session.read('greet.txt')).toBe('HELLO\n');
    await workbench.screenshot('agent-3-undone');
  });
});
