// `npm run bench`: bundles the bench, its child programs and the command line into a temporary folder and runs it there.
import { build } from 'esbuild';
import { spawn } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheRoot, ensure } from '../test/rig/install.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const bundles = await mkdtemp(join(tmpdir(), 'checkpoints-bench-code-'));
const entries = { main: 'bench/main.ts', index: 'bench/children/index.ts' };
/** What starts in a process of its own is built as it is packed: reading a source map of several megabytes is nothing that a user waits for. */
const packed = { engine: 'bench/children/engine.ts', fresh: 'bench/children/fresh.ts', cli: 'src/cli/main.ts' };
// The rigs of the tests find the checkout by their place: two folders below it.
const agent = join(root, 'node_modules', '.cache', `checkpoints-bench-${process.pid}.mjs`);
let child;

for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child?.kill(signal));

try {
  const cjs = {
    absWorkingDir: root,
    outdir: bundles,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    logLevel: 'warning',
    external: ['vscode'],
  };
  await build({ ...cjs, entryPoints: entries, sourcemap: 'inline' });
  await build({ ...cjs, entryPoints: packed, minify: true, legalComments: 'none' });
  await cp(join(root, 'node_modules/sql.js/dist/sql-wasm.wasm'), join(bundles, 'sql-wasm.wasm'));
  await ensure(['opencodeV1', 'opencodeV2']);
  const esm = {
    absWorkingDir: root,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    logLevel: 'warning',
  };
  await build({
    ...esm,
    entryPoints: ['bench/children/timed-plugin.ts'],
    outfile: join(bundles, 'opencode-checkpoints.js'),
  });
  await build({ ...esm, entryPoints: ['bench/children/agent.ts'], outfile: agent, packages: 'external' });
  child = spawn(process.execPath, ['--enable-source-maps', join(bundles, 'main.js'), ...process.argv.slice(2)], {
    stdio: 'inherit',
    // The bench gives itself another home; what is installed stays where it is.
    env: { ...process.env, BENCH_AGENT: agent, BENCH_TOOLS: cacheRoot() },
  });
  process.exitCode = await new Promise((resolve) => child.on('close', (code) => resolve(code ?? 1)));
} finally {
  await rm(bundles, { recursive: true, force: true });
  await rm(agent, { force: true });
}
