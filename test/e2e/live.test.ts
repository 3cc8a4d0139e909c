import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startOpenCode, type OpenCode } from '../rig/opencode';
import { edit, subagent, write } from '../rig/script';
import { packagedExtension, VsCodeSession } from '../rig/vscode-session';

const view = 'Checkpoints';
const plugin = fileURLToPath(new URL('../../dist/opencode-plugin.js', import.meta.url));
/** Longer than any test: the agent stops when it is interrupted. */
const forever = 600_000;

/** What a running OpenCode knows of its sessions, in tree and timeline: at work, at work elsewhere, gone, out of reach. */
describe('a living OpenCode', () => {
  let store: string;
  let opencode: OpenCode;
  let session: VsCodeSession;
  let conversation: string;

  beforeAll(async () => {
    packagedExtension();
    store = await mkdtemp(join(tmpdir(), 'checkpoints-store-'));
    opencode = await startOpenCode({
      generation: 'v1',
      files: { 'greet.txt': 'hello\n' },
      plugins: [plugin],
      env: { OPENCODE_CHECKPOINTS_HOME: store },
    });
    conversation = await opencode.createSession('Greetings');
    opencode.model.on('look around', [
      { text: 'One.', tools: [write('one.txt', '1\n')] },
      { text: 'Two.', tools: [write('two.txt', '2\n')] },
      { text: 'Found.' },
    ]);
    await opencode.turn(conversation, 'Ask somebody else', [
      { text: 'I ask.', tools: [subagent('look around')] },
      { text: 'Done.' },
    ]);
    session = await VsCodeSession.start({
      folder: opencode.workspace,
      env: {
        OPENCODE_CHECKPOINTS_HOME: store,
        OPENCODE_SERVER_URL: opencode.url,
        OPENCODE_SERVER_PASSWORD: opencode.password,
        OPENCODE_BIN: opencode.binary,
      },
    });
    await session.workbench.openContainer(view);
  });
  afterAll(async () => {
    await session?.stop();
    await opencode?.dispose();
    await rm(store, { recursive: true, force: true });
  });
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail')
      await session.workbench.screenshot(`failed-live-${task.name.replace(/\W+/g, '-')}`);
  });

  it('has its sub-agents in the turn they worked for', async () => {
    const { workbench } = session;
    await workbench.expand(view, /^Greetings/);
    await workbench.expand(view, /^Ask somebody else/);
    await workbench.contextMenu(workbench.row(view, 'Before write two.txt'), 'Show in Timeline');
    const page = await workbench.webview('checkpoints-timeline .row');
    await page.locator('.row.selected', { hasText: 'Before write two.txt' }).waitFor();
    await page.locator('.detail').getByText('of a sub-agent').waitFor();
    await workbench.screenshot('live-1-subagent');
  });

  it('is seen at work', async () => {
    const { workbench } = session;
    await opencode.prompt(conversation, 'Think long', [{ text: 'Hm.', hangMs: forever }]);
    await workbench.row(view, /^Greetings\s*working/).waitFor();
    const page = await workbench.webview('checkpoints-timeline .row');
    await page.locator('.row .chip.session .codicon-loading').waitFor();
    await workbench.screenshot('live-2-working');
    await opencode.interrupt(conversation);
    await workbench.row(view, /^Greetings\s*(now|\d)/).waitFor();
    await page.locator('.row .chip.session .codicon-loading').waitFor({ state: 'detached' });
  });

  it('is suspected to be at work in another process', async () => {
    const { workbench } = session;
    const other = await startOpenCode({ generation: 'v1', sharing: opencode });
    try {
      await other.prompt(conversation, 'Think elsewhere', [{ text: 'Hm.', hangMs: forever }]);
      await expect
        .poll(async () => (await opencode.messages(conversation)).at(-1)?.type, { timeout: 60_000 })
        .toBe('assistant');
      await workbench.contextMenu(workbench.row(view, /^Ask somebody else/), 'Fork Session Here');
      expect(await workbench.modalText()).toContain('another OpenCode may be writing it');
      await workbench.screenshot('live-3-elsewhere');
      await workbench.modalClick('Cancel');
      await other.interrupt(conversation);
    } finally {
      await other.dispose();
    }
  });

  it('has lost a session, and says so', async () => {
    const { workbench } = session;
    const lost = await opencode.createSession('Soon gone');
    await opencode.turn(lost, 'Say it louder', [
      { text: 'Loud.', tools: [edit('greet.txt', 'hello', 'HELLO')] },
      { text: 'Done.' },
    ]);
    await workbench.row(view, /^Soon gone/).waitFor();
    await opencode.call('DELETE', `/session/${lost}`);
    await workbench.row(view, /^Soon gone\s*deleted/).waitFor();
    const page = await workbench.webview('checkpoints-timeline .row');
    await page.locator('.chip.session.gone', { hasText: 'Soon gone' }).first().waitFor();
    await page.locator('.row', { hasText: 'Turn ended: Say it louder' }).first().click();
    await page.locator('.detail').getByRole('button', { name: 'Soon gone' }).click();
    await workbench.notification('The session of this checkpoint does not exist any more').waitFor();
    // Said as a failure to those who cannot see the message.
    await page.locator('.live', { hasText: 'That failed.' }).waitFor({ state: 'attached' });
    await workbench.screenshot('live-4-gone');
  });

  it('is out of reach, and everything else goes on', async () => {
    const { workbench } = session;
    await opencode.stop();
    const page = await workbench.webview('checkpoints-timeline .row');
    await page.getByText('No OpenCode server answers').waitFor();
    await workbench.screenshot('live-5-out-of-reach');
    await page.locator('.row', { hasText: 'Say it louder' }).last().click();
    await page.getByRole('button', { name: 'Restore…' }).first().click();
    await workbench.modalClick('Restore');
    await workbench.notification('Restored: 1 file written').waitFor();
    expect(await session.read('greet.txt')).toBe('hello\n');
  });
});
