// The environment of a suite: everything a test could write to by default lies in one temporary folder.
import { randomUUID } from 'node:crypto';
import { chmod, mkdir, mkdtemp, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The user's git, OpenCode, editor and model keys must not reach a test, nor the npm that started it. */
const FOREIGN =
  /^(GIT_|OPENCODE|VSCODE_|ELECTRON_|XDG_|VITEST|npm_|INIT_CWD$|NODE_OPTIONS$|.*_API_KEY$|.*_(AUTH_)?TOKEN$)/;

/** The folder of one run: `logs` is kept when something fails, the rest never. */
export async function makeRunFolder() {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'checkpoints-test-')));
  // Tests that become another user for a moment must still reach their files.
  await chmod(root, 0o755);
  await mkdir(join(root, 'logs'));
  return root;
}

/** `tools` are the found executables; the cache is named, because it would be looked for below the new HOME. */
export async function suiteEnvironment(runRoot, name, { cache, tools = {}, base = process.env }) {
  const marker = `run-${randomUUID().slice(0, 13)}`;
  // Short: sockets below it must not exceed 107 bytes.
  const work = join(runRoot, marker);
  const home = join(work, 'home');
  const artifacts = join(runRoot, 'logs', name);
  const dirs = {
    HOME: home,
    XDG_CONFIG_HOME: join(home, '.config'),
    XDG_DATA_HOME: join(home, '.local', 'share'),
    XDG_STATE_HOME: join(home, '.local', 'state'),
    XDG_CACHE_HOME: join(home, '.cache'),
    XDG_RUNTIME_DIR: join(work, 'run'),
    TMPDIR: join(work, 'tmp'),
    TEST_ARTIFACTS: artifacts,
  };
  for (const folder of Object.values(dirs)) await mkdir(folder, { recursive: true });
  await chmod(dirs.XDG_RUNTIME_DIR, 0o700);
  const kept = Object.entries(base).filter(([key]) => !FOREIGN.test(key));
  const env = {
    ...Object.fromEntries(kept),
    ...dirs,
    ...(process.platform === 'win32' ? { USERPROFILE: home, TEMP: dirs.TMPDIR, TMP: dirs.TMPDIR } : {}),
    OPENCODE_CHECKPOINTS_TEST_RUN: marker,
    OPENCODE_CHECKPOINTS_CACHE: cache,
    ...(tools.chromium ? { CHROMIUM_PATH: tools.chromium } : {}),
    ...(tools.opencodeV1 ? { OPENCODE_V1_BIN: tools.opencodeV1 } : {}),
    ...(tools.opencodeV2 ? { OPENCODE_V2_BIN: tools.opencodeV2 } : {}),
  };
  return { env, marker, work, artifacts };
}
