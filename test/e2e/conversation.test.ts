import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { anchorBefore } from '../../src/core/anchors';
import type { SessionGateway } from '../../src/core/sessions';
import { gatewayFor } from '../../src/opencode/connect';
import { endpoint } from '../../src/opencode/http';
import { runProgram, useBuilt } from '../git/cli-rig';
import { gatewayTo } from '../opencode/gateway-fixture';
import { startOpenCode, type OpenCode } from '../rig/opencode';
import { edit, write } from '../rig/script';
import { VsCodeSession } from '../rig/vscode-session';
import { withStore } from './afternoon';

const program = useBuilt('cli');
const view = 'Checkpoints';
const prompt = 'Make the greeting louder';
/** The fork is called after the point it was made from. */
const point = new RegExp(`^${prompt}(?!.*no checkpoint yet)`);
const fork = new RegExp(`^Before “${prompt}”.*no checkpoint yet`);

/** Files and conversation come back together, and the new session is there to go on with. */
describe.each(['v1', 'v2'] as const)('conversation on OpenCode %s', (generation) => {
  let opencode: OpenCode;
  let session: VsCodeSession;
  let conversation: string;
  let gateway: SessionGateway;

  beforeAll(async () => {
    opencode = await startOpenCode({ generation, files: { 'greet.txt': 'hello\n', 'README.md': '# Greeter\n' } });
    session = await VsCodeSession.start({
      folder: opencode.workspace,
      env: {
        OPENCODE_SERVER_URL: opencode.url,
        OPENCODE_SERVER_PASSWORD: opencode.password,
        OPENCODE_BIN: opencode.binary,
      },
    });
    conversation = await opencode.createSession('Greetings');
    await opencode.turn(conversation, 'Say hello', [{ text: 'Hello.' }]);
    const message = await opencode.turn(conversation, prompt, [
      { text: 'Louder.', tools: [edit('greet.txt', 'hello', 'HELLO')] },
      { text: 'Done.' },
    ]);
    gateway = gatewayFor(
      {
        endpoint: endpoint(opencode.url, opencode.password),
        generation,
        version: generation === 'v1' ? '1.18.33' : '2.0.15',
      },
      {},
    );
    // The point that the plugin makes before a prompt: the files as they were, the messages before it.
    await session.write('greet.txt', 'hello\n');
    await withStore(session, async (api) =>
      api.create({
        trigger: 'turn',
        session: anchorBefore(await gateway.get(conversation), await gateway.messages(conversation), message),
        turn: { number: 2, prompt, model: 'scripted', agent: 'build', cost: 0, tokens: 10 },
      }),
    );
    await session.write('greet.txt', 'HELLO\n');
  });
  afterAll(async () => {
    await session?.stop();
    await opencode?.dispose();
  });
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') await session.workbench.screenshot(`failed-conversation-${generation}`);
  });

  const sessions = async (): Promise<unknown[]> => (await gateway.list(session.folder)).map(({ id }) => id);

  it('is restored with the files, into a new session that opens', async () => {
    const { workbench } = session;
    await workbench.openContainer(view);
    await workbench.expand(view, 'Greetings');
    await workbench.rowAction(view, prompt, 'Restore Checkpoint');
    await workbench.modalClick('Choose…');
    await workbench.quickRows.filter({ hasText: 'Conversation' }).click();
    await workbench.confirmPick();
    await workbench.row('Restore Plan', 'greet.txt').waitFor();
    await workbench.viewAction('Restore Plan', 'Restore Ticked Files');
    await workbench.notification('Restored: 1 file written, new session made.').waitFor();
    // At once: a message that nobody looks at goes away by itself.
    await workbench.notificationClick('Restored: 1 file written', 'Copy Prompt');
    expect(await session.read('greet.txt')).toBe('hello\n');
    // The fork ends with the note that tells the agent what was restored.
    await expect.poll(() => workbench.terminalText(), { timeout: 60_000 }).toContain('Checkpoints');
    // It hangs under its origin before anything was done in it.
    const row = workbench.row(view, fork);
    await expect.poll(() => row.getAttribute('aria-selected')).toBe('true');
    expect(await row.getAttribute('aria-level')).toBe('2');
    expect(await row.getAttribute('aria-label')).toMatch(/^Fork /);
    await workbench.screenshot(`conversation-${generation}`);
  });

  it('stays as it was in the old one', async () => {
    const texts = (await opencode.messages(conversation)).map(({ text }) => text);
    expect(texts).toContain(prompt);
  });

  it('belongs to a checkpoint that one makes by hand', async () => {
    const { workbench } = session;
    await workbench.command('Checkpoints: Create Named Checkpoint…');
    await workbench.answer('By hand');
    const made = async () => (await withStore(session, (api) => api.list())).find(({ name }) => name === 'By hand');
    await expect.poll(async () => (await made())?.id, { timeout: 30_000 }).toBeDefined();
    // The new session is the one that goes on.
    const anchor = (await made())?.session;
    expect(anchor?.id).not.toBe(conversation);
    const messages = (await opencode.messages(anchor?.id ?? '')).filter(({ type }) => /^(user|assistant)$/.test(type));
    expect(anchor).toMatchObject({ messageCount: messages.length, messageId: messages.at(-1)?.id });
    await workbench.row(view, /^By hand/).waitFor();
    await workbench.screenshot(`conversation-${generation}-by-hand`);
  });

  it('gets points from the server’s events while the plugin is not installed', async () => {
    const { workbench } = session;
    // The timeline says so as soon as the server is followed.
    await workbench.command('Checkpoints: Open Timeline');
    const page = await workbench.webview('checkpoints-timeline .row');
    await page.getByText('may be late').waitFor();
    await opencode.turn(conversation, 'Now whisper', [
      // Events come late; an agent that answers at once has changed the file before the point of its prompt is made.
      { text: 'Quiet.', hangMs: 4000, tools: [edit('greet.txt', 'hello', 'psst')] },
      { text: 'Done.' },
    ]);
    await workbench.row(view, /^Now whisper/).waitFor();
    await workbench.expand(view, /^Now whisper/);
    await workbench.row(view, 'After the turn').waitFor();
    const points = await withStore(session, (api) => api.list({ session: conversation }));
    const turn = points.find((point) => point.trigger === 'turn' && point.turn?.prompt === 'Now whisper');
    expect(turn?.metadata).toEqual({ late: true });
    // "Say hello" with its answer, and the louder one with two steps: what OpenCode 2 keeps between them does not count.
    expect(turn?.session?.messageCount).toBe(5);
    await workbench.screenshot(`conversation-${generation}-events`);
  });

  it('says how many messages a fork keeps', async () => {
    const { workbench } = session;
    await workbench.command('Notifications: Clear All Notifications');
    await workbench.contextMenu(workbench.row(view, point), 'Fork Session Here');
    expect(await workbench.modalText()).toContain(`Fork the session at “${prompt}”?`);
    expect(await workbench.modalText()).toMatch(/new session with 2 of \d+ messages; the old one stays/);
    await workbench.screenshot(`conversation-${generation}-fork`);
    await workbench.modalClick('Cancel');
  });

  it('stops an agent at work before its files are restored, when one asks for it', async () => {
    const { workbench } = session;
    await opencode.prompt(conversation, 'Work for long', [{ text: 'Working.', hangMs: 120_000 }]);
    // The new prompt has its point, and the rows stand still again.
    await workbench.row(view, /^Greetings\s*working/).waitFor();
    await workbench.row(view, /^Work for long/).waitFor();
    await workbench.rowAction(view, point, 'Restore Checkpoint');
    await workbench.modalClick('Restore');
    expect(await workbench.modalText()).toContain('The agent is still working in this session.');
    await workbench.screenshot(`conversation-${generation}-busy`);
    await workbench.modalClick('Stop the Agent and Restore');
    await workbench.notification('Restored: 1 file written').waitFor();
    expect(await session.read('greet.txt')).toBe('hello\n');
  });

  it('is forked afterwards, when a restore died right before it', async () => {
    const { workbench } = session;
    await session.write('greet.txt', 'mine\n');
    const target = (await withStore(session, (api) => api.list())).find((one) => one.turn?.prompt === prompt);
    const folder = await mkdtemp(join(tmpdir(), 'checkpoints-die-'));
    // As the power does it: when the fork is asked for.
    await writeFile(
      join(folder, 'die.cjs'),
      `const real = globalThis.fetch;
       globalThis.fetch = (input, init) => {
         if (init?.method === 'POST' && /\\/fork\\b/.test(String(input))) process.kill(process.pid, 'SIGKILL');
         return real(input, init);
       };`,
    );
    const died = await runProgram(
      process.execPath,
      [program(), 'restore', target?.id ?? '', '--scope', 'files,conversation', '--yes', '--force'],
      { cwd: session.folder, env: { ...session.server.env, NODE_OPTIONS: `--require ${join(folder, 'die.cjs')}` } },
    );
    await rm(folder, { recursive: true, force: true });
    expect(died.code).not.toBe(0);
    expect(await session.read('greet.txt')).toBe('hello\n');
    const before = (await sessions()).length;
    await workbench.reload();
    const said = /was interrupted\. The files are restored, but the conversation was not forked\./;
    await workbench.notification(said).waitFor({ timeout: 60_000 });
    await workbench.screenshot(`conversation-${generation}-not-forked`);
    await workbench.notificationClick(said, 'Fork Session');
    await expect.poll(async () => (await sessions()).length, { timeout: 60_000 }).toBe(before + 1);
  });

  it('catches up with what happened while its server was away', async () => {
    const { workbench } = session;
    await workbench.openContainer(view);
    await workbench.expand(view, /^Greetings/);
    await workbench.command('Checkpoints: Open Timeline');
    const page = await workbench.webview('checkpoints-timeline .row');
    await opencode.kill();
    await page.getByText('No OpenCode server answers').waitFor();
    const other = await startOpenCode({ generation, sharing: opencode });
    const title = 'Whispers (fork #1)';
    try {
      await other.turn(conversation, 'Meanwhile, elsewhere', [
        { tools: [write('greet.txt', 'aside\n')] },
        { text: 'Done.' },
      ]);
      const { session: made } = await (await gatewayTo(other)).fork(conversation, null);
      await (await gatewayTo(other)).update(made.id, { title });
    } finally {
      await other.dispose();
    }
    await opencode.start();
    // It is looked for every half minute. How the files were before that turn nobody saw, but its end is told from the user's edits.
    const patience = { timeout: 90_000 };
    await workbench.row(view, /^Turn ended: Meanwhile, elsewhere/).waitFor(patience);
    await workbench.row(view, title).waitFor(patience);
    await page.locator('.row', { hasText: title }).waitFor();
    await workbench.screenshot(`conversation-${generation}-caught-up`);
    const points = await withStore(session, (api) => api.list({ session: conversation }));
    const end = points.find((point) => point.turn?.prompt === 'Meanwhile, elsewhere');
    expect(end).toMatchObject({ trigger: 'idle', files: { paths: ['greet.txt'] } });
    // And it is followed again.
    await opencode.prompt(conversation, 'Work again', [{ text: 'Working.', hangMs: 120_000 }]);
    await workbench.row(view, /^Work again/).waitFor();
    await opencode.interrupt(conversation);
  });
});
