// Ends what a demo started and removes its folder when the demo itself was killed and could not:
// `node watchdog.mjs FOLDER STATE`. Its stdin is a pipe from the demo, which closes whatever happens to it.
import { rm } from 'node:fs/promises';
import { endAll } from '../run/processes.mjs';

const [folder, state] = process.argv.slice(2);
process.stdin.resume();
await new Promise((done) => process.stdin.on('close', done));
await endAll(-1, folder);
await rm(state, { force: true });
await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
