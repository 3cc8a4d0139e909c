import { OwnServer } from '../../src/opencode/server';

/** A program that starts a server of its own and then waits to be killed: bundled and run by own-server.test.ts. */
const [binary, cwd, stateFolder] = process.argv.slice(2);
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
