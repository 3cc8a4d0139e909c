// Builds everything that ships or runs in VS Code's extension host. `node esbuild.mjs [--watch] [--production]`.
import { build, context } from 'esbuild';
import { chmod, cp, mkdir, rm } from 'node:fs/promises';
import { existsSync, readdirSync } from 'node:fs';

const watch = process.argv.includes('--watch');
const production = process.argv.includes('--production');

const common = {
  bundle: true,
  logLevel: 'warning',
  sourcemap: production ? false : 'linked',
  minify: production,
  legalComments: 'none',
};

const node = { ...common, platform: 'node', target: 'node20' };

/** Only what exists is built, so that a checkout in the middle of a change still builds. */
const targets = [
  { ...node, format: 'cjs', entryPoints: ['src/extension.ts'], outfile: 'dist/extension.js', external: ['vscode'] },
  {
    ...node,
    format: 'cjs',
    entryPoints: ['src/cli/main.ts'],
    outfile: 'dist/cli.js',
    banner: { js: '#!/usr/bin/env node' },
  },
  { ...node, format: 'cjs', entryPoints: ['src/cli/api.ts'], outfile: 'dist/api.js' },
  { ...node, format: 'esm', entryPoints: ['src/plugin/main.ts'], outfile: 'dist/opencode-plugin.js' },
  {
    ...common,
    platform: 'browser',
    target: 'es2022',
    format: 'esm',
    entryPoints: ['webview/timeline/main.ts'],
    outfile: 'dist/timeline.js',
    tsconfigRaw: { compilerOptions: { experimentalDecorators: true, useDefineForClassFields: false } },
  },
  {
    ...node,
    format: 'cjs',
    entryPoints: ['test/host/index.ts'],
    outfile: 'dist/test/host.js',
    external: ['vscode', 'mocha'],
    minify: false,
  },
].filter((t) => existsSync(t.entryPoints[0]));

await rm('dist', { recursive: true, force: true });
await mkdir('dist', { recursive: true });
await cp('node_modules/sql.js/dist/sql-wasm.wasm', 'dist/sql-wasm.wasm');
await mkdir('dist/codicons', { recursive: true });
for (const file of ['codicon.css', 'codicon.ttf'])
  await cp(`node_modules/@vscode/codicons/dist/${file}`, `dist/codicons/${file}`);
for (const file of existsSync('webview/timeline') ? readdirSync('webview/timeline') : [])
  if (file.endsWith('.css')) await cp(`webview/timeline/${file}`, `dist/${file}`);

if (watch) {
  for (const target of targets) await (await context(target)).watch();
  process.stdout.write('watching\n');
} else {
  await Promise.all(targets.map((target) => build(target)));
  if (existsSync('dist/cli.js')) await chmod('dist/cli.js', 0o755);
  // Three seconds of the compiler that nobody at work wants to wait for.
  if (production && existsSync('src/cli/api.ts')) await import('./build-types.mjs');
}
