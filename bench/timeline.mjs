// `npm run bench:timeline -- [--rows N] [--steps N] [--json]`: how smoothly the timeline page scrolls in a real browser.
import { build } from 'esbuild';
import { mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const args = process.argv.slice(2);
const number = (name, fallback) => (args.includes(name) ? Number(args[args.indexOf(name) + 1]) : fallback);

// Beside node_modules, so that the browser's driver resolves.
const cache = join(root, 'node_modules', '.cache');
const outfile = join(cache, `checkpoints-bench-timeline-${process.pid}.mjs`);
await mkdir(cache, { recursive: true });
process.chdir(root);
try {
  await build({
    entryPoints: [join(root, 'bench', 'timeline.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    packages: 'external',
    logLevel: 'warning',
  });
  const { benchTimeline } = await import(pathToFileURL(outfile).href);
  const options = { rows: number('--rows', 10_000), steps: number('--steps', 300), json: args.includes('--json') };
  await benchTimeline(options);
} finally {
  await rm(outfile, { force: true });
}
