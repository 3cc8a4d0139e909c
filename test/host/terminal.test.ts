import * as assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { Sessions } from '../../src/host/sessions';
import { isolatedEnv } from '../rig/opencode-config';
import { activate, closeEditors, eventually, log, project, required, withStore } from './helpers';

/** A port in the range that the official extension takes one from. */
const anyPort = (): number => Math.floor(Math.random() * (65535 - 16384 + 1)) + 16384;

/** Programs that were started in a terminal. */
const programsOf = async (terminal: vscode.Terminal): Promise<number[]> => {
  const shell = await terminal.processId;
  if (shell === undefined) return [];
  return readFileSync(`/proc/${shell}/task/${shell}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
};

/** OpenCode 1 was seen to outlive its terminal, once: nothing of it may be left then. */
const end = async (pid: number): Promise<void> => {
  for (let left = 50; left > 0 && existsSync(`/proc/${pid}`); left--)
    await new Promise((next) => setTimeout(next, 100));
  if (existsSync(`/proc/${pid}`)) process.kill(pid, 'SIGKILL');
};

describe("The official extension's terminal", () => {
  before(activate);
  after(closeEditors);

  it('has the server that is used', async () => {
    const sessions = await withStore((api) => Promise.resolve(new Sessions(project, api.folder, log())));
    const port = anyPort();
    const home = join(project, '..', 'terminal');
    mkdirSync(join(home, 'tmp'), { recursive: true });
    // As its source has it: a terminal with these two, and a line typed into it. The rest keeps OpenCode to itself.
    const terminal = vscode.window.createTerminal({
      name: 'opencode',
      env: {
        ...isolatedEnv(home),
        TERM: 'xterm-256color',
        _EXTENSION_OPENCODE_PORT: String(port),
        OPENCODE_CALLER: 'vscode',
      },
    });
    try {
      assert.equal(await sessions.running(), null);
      terminal.show();
      terminal.sendText(`'${required('HOST_OPENCODE')}' --port ${port}`);
      const gateway = await eventually(
        () => sessions.running(),
        (found) => found !== null,
        'its server was never found',
        50_000,
      );
      assert.equal(gateway?.url, `http://127.0.0.1:${port}`);
      assert.equal(gateway?.generation, 'v1');
      assert.equal((await sessions.gateway()).url, gateway?.url);
      assert.match((await sessions.description()) ?? '', new RegExp(`127\\.0\\.0\\.1:${port}, found running$`));
      process.env['OPENCODE_BIN'] = required('HOST_OPENCODE');
      const created = await fetch(`${gateway?.url}/session?directory=${encodeURIComponent(project)}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ title: 'Once' }),
      });
      const { id } = (await created.json()) as { id: string };
      const shown = await sessions.open(id, 'Once');
      assert.equal(await sessions.open(id, 'Once'), shown);
      const closed = eventually(
        () => vscode.window.terminals.includes(shown),
        (open) => !open,
        'not closed',
      );
      shown.dispose();
      await closed;
      const again = await sessions.open(id, 'Once');
      assert.notEqual(again, shown);
      again.dispose();
    } finally {
      delete process.env['OPENCODE_BIN'];
      const programs = await programsOf(terminal);
      // They end with it.
      terminal.dispose();
      await Promise.all(programs.map(end));
      await sessions.close();
    }
  });
});
