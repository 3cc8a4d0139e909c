import childProcess from 'node:child_process';
import { writeSync } from 'node:fs';
import { OwnServer } from '../../src/opencode/server';

/** A program that starts a server of its own and then waits to be killed: bundled and run by own-server.test.ts. */
const [binary, cwd, stateFolder, killed] = process.argv.slice(2);
if (killed === 'at-once') {
  const { spawn } = childProcess;
  // Dies as `kill -9` would have it right after the server was started, before anything else can be done.
  const dying = (...given: Parameters<typeof spawn>): ReturnType<typeof spawn> => {
    const child = spawn(...given);
    if (given[1].includes('serve')) {
      writeSync(1, JSON.stringify({ pid: child.pid }));
      process.kill(process.pid, 'SIGKILL');
    }
    return child;
  };
  Object.assign(childProcess, { spawn: dying });
}
const own = new OwnServer({ binary, cwd: cwd ?? '', stateFolder: stateFolder ?? '' });
own.ensure().then(
  (server) => {
    process.stdout.write(`${JSON.stringify({ pid: server.pid, url: server.endpoint.url })}\n`);
    setInterval(() => undefined, 1000);
  },
  (error: unknown) => {
    process.stderr.write(String(error));
    process.exitCode = 1;
  },
);
