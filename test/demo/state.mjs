// What a running demo tells `npm run demo:prompt`: where its agent is. In the checkout that both belong to: the second
// terminal need not have the home, the cache or any other variable of the first.
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { checkout } from '../rig/install-parts.mjs';

export const stateFolder = join(checkout, 'node_modules', '.cache', 'checkpoints-demo');

export const stateFileOf = (pid) => join(stateFolder, `${pid}.json`);

function alive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** The state of the newest demo that runs; one that was killed may have left its file. */
export function findDemo() {
  const files = existsSync(stateFolder) ? readdirSync(stateFolder).map((name) => join(stateFolder, name)) : [];
  return files
    .sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)
    .find((file) => alive(JSON.parse(readFileSync(file, 'utf8')).pid));
}
