// `npm run package`: the production build as dist/opencode-checkpoints.vsix, everything bundled, nothing unlisted.
import { spawnSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { ensure } from '../rig/install.mjs';
import { checkout as root } from '../rig/install-parts.mjs';
import { extensionPage } from './extension-page.mjs';

const LIMIT = 2 * 1024 * 1024;
const vsix = 'dist/opencode-checkpoints.vsix';

const run = (...args) => {
  const { status, error } = spawnSync(process.execPath, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
};

await ensure(['modules']);
run('esbuild.mjs', '--production');
const readme = 'dist/README.md';
writeFileSync(`${root}/${readme}`, extensionPage(readFileSync(`${root}/README.md`, 'utf8')));
run(
  'node_modules/@vscode/vsce/vsce',
  'package',
  '--no-dependencies',
  '--allow-missing-repository',
  '--no-rewrite-relative-links',
  '--readme-path',
  readme,
  '--out',
  vsix,
);
const { size } = statSync(`${root}/${vsix}`);
process.stdout.write(`${vsix}: ${(size / 1024).toFixed(0)} KB\n`);
if (size > LIMIT) {
  process.stderr.write(`The package must stay under ${LIMIT / 1024} KB.\n`);
  process.exitCode = 1;
}
