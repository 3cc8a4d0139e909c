import { spawn } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { Connector } from '../../src/opencode/connect';
import { startOpenCode, until } from '../rig/opencode';
import { generations } from './gateway-fixture';

describe.each(generations)("OpenCode's own interface, %s", (generation) => {
  it('shows a session of the server we use', async () => {
    const server = await startOpenCode({ generation });
    const password = generation === 'v1' ? 'OPENCODE_SERVER_PASSWORD' : 'OPENCODE_PASSWORD';
    const connector = new Connector({
      root: server.workspace,
      serverUrl: server.url,
      opencodePath: server.binary,
      env: server.env,
      stateFolder: `${server.home}/servers`,
    });
    try {
      const session = await server.createSession('Reopened');
      await server.turn(session, 'say something rare', [{ text: 'Xylophone quartz.' }]);
      const command = await connector.terminal(session, server.workspace);
      expect(command.args.join(' ')).not.toContain(server.password);
      expect(command.env[password]).toBe(server.password);

      // `script` gives it the terminal that it wants.
      const line = [command.path, ...command.args].map((word) => `'${word}'`).join(' ');
      const { [password]: _own, ...env } = server.env;
      const shown = spawn('script', ['-qfec', `stty rows 40 cols 120; exec ${line}`, '/dev/null'], {
        cwd: server.workspace,
        env: { ...env, TERM: 'xterm-256color', ...command.env },
        detached: true,
        stdio: ['pipe', 'pipe', 'pipe'],
      });
      let output = '';
      shown.stdout.on('data', (data: Buffer) => (output += data.toString()));
      const ended = new Promise((resolve) => shown.once('close', resolve));
      try {
        await until(
          () => output.includes('Xylophone'),
          60_000,
          () => `it was never shown: ${JSON.stringify(output.slice(-2000))}`,
        );
      } finally {
        process.kill(-(shown.pid ?? 0), 'SIGKILL');
        await ended;
      }
    } finally {
      await connector.close();
      await server.dispose();
    }
  });
});
