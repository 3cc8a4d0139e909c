// The OpenCode that the user has, where the product can work with it. No dependencies: it runs before `npm ci` did.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onPath, say } from '../rig/install-system.mjs';

/** As `oldestSupported` in src/opencode/versions.ts; a test compares the two. */
export const oldest = '1.18.0';

const numbers = (version) => version.split('.').map(Number);

function isOlder(version, than) {
  const [a, b] = [numbers(version), numbers(than)];
  const at = a.findIndex((number, i) => number !== b[i]);
  return at >= 0 && a[at] < b[at];
}

/** OpenCode makes its folders whatever it is asked: here in a home that is removed again. */
function answerOf(program, ...args) {
  const home = mkdtempSync(join(tmpdir(), 'checkpoints-asking-'));
  try {
    const places = ['HOME', 'XDG_DATA_HOME', 'XDG_CONFIG_HOME', 'XDG_STATE_HOME', 'XDG_CACHE_HOME', 'TMPDIR'];
    const env = { ...process.env, ...Object.fromEntries(places.map((name) => [name, home])) };
    return spawnSync(program, args, { env, encoding: 'utf8', timeout: 60_000 }).stdout ?? '';
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** Undefined where there is none, or none that can be used: then it says so, and one from npm takes its place. */
export function ownOpenCode() {
  const found = onPath('opencode');
  if (!found) return undefined;
  const version = /\d+\.\d+\.\d+/.exec(answerOf(found, '--version'))?.[0];
  // Builds from source call themselves so: nobody can say how old they are.
  if (version === '0.0.0' || (version && !isOlder(version, oldest))) return found;
  say(
    `${found} ${version ? `is OpenCode ${version}, older than ${oldest}` : 'does not tell its version'}: one from npm is used instead`,
  );
  return undefined;
}
