// Runs dist/test/host.js (mocha) inside a real extension host: `node test/rig/run-host.mjs [--grep TEXT] [--desktop]`.
// Default: the VS Code server with a headless browser. --desktop: a desktop VS Code by @vscode/test-electron.
// Writes {tests:[{title,state,error?,duration}]} to $HOST_RESULT. Exit 0: something ran and all of it passed.
import { build } from 'esbuild';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..');
const bundle = join(root, 'dist', 'test', 'host.js');
const patience = 8 * 60_000;
const grep = process.argv.includes('--grep') ? process.argv[process.argv.indexOf('--grep') + 1] : undefined;

for (const file of [bundle, join(root, 'dist', 'extension.js')])
  if (!existsSync(file)) {
    process.stderr.write(`${file} is missing: run npm run build first\n`);
    process.exit(1);
  }

const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'checkpoints-host-')));
const resultFile = resolve(process.env.HOST_RESULT ?? join(scratch, 'result.json'));
rmSync(resultFile, { force: true });

/** A small git repository, and beside it a folder without git, for the tests to work in. */
const makeWorkspace = () => {
  const folder = join(scratch, 'project');
  mkdirSync(join(folder, 'src'), { recursive: true });
  writeFileSync(join(folder, 'README.md'), '# Sample\n');
  writeFileSync(
    join(folder, 'src', 'app.ts'),
    Array.from({ length: 40 }, (_, i) => `export const line${i + 1} = ${i + 1};\n`).join(''),
  );
  writeFileSync(join(folder, '.gitignore'), 'ignored/\n');
  const git = (...args) =>
    execFileSync('git', ['-c', 'user.name=Test', '-c', 'user.email=test@example.invalid', ...args], { cwd: folder });
  git('init', '-q', '-b', 'main');
  git('add', '-A');
  git('commit', '-qm', 'Start');
  const second = join(scratch, 'second');
  mkdirSync(second);
  writeFileSync(join(second, 'notes.txt'), 'one\n');
  const file = join(scratch, 'both.code-workspace');
  writeFileSync(file, JSON.stringify({ folders: [{ path: 'project' }, { path: 'second' }] }));
  return { folder, file };
};

/** The rigs are TypeScript; bundled beside node_modules so that their packages resolve. */
const loadRig = async (name) => {
  const cache = join(root, 'node_modules', '.cache');
  mkdirSync(cache, { recursive: true });
  const outfile = join(cache, `checkpoints-${name}-${process.pid}.mjs`);
  await build({
    entryPoints: [join(root, 'test', 'rig', `${name}.ts`)],
    outfile,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    logLevel: 'warning',
  });
  try {
    return await import(pathToFileURL(outfile).href);
  } finally {
    rmSync(outfile, { force: true });
  }
};

const inServer = async (env, workspaceFile) => {
  const { locate } = await import('./install.mjs');
  const tools = await locate(['chromium', 'vscode']);
  const { startVsCodeServer } = await loadRig('vscode-server');
  const { launchBrowser, artifacts } = await loadRig('browser');
  const server = await startVsCodeServer({
    tools,
    testDriver: true,
    env,
  });
  const browser = await launchBrowser(tools.chromium);
  let page;
  try {
    page = await (await browser.newContext({ viewport: { width: 1400, height: 900 } })).newPage();
    const remote = (path) => `vscode-remote://127.0.0.1:${server.port}${path}`;
    const payload = [
      ['extensionDevelopmentPath', remote(root)],
      ['extensionTestsPath', remote(bundle)],
      ['skipWelcome', 'true'],
    ];
    const exit = await new Promise((done, fail) => {
      const timer = setTimeout(
        () => fail(new Error(`no answer from the extension host in ${patience / 60_000} minutes`)),
        patience,
      );
      const finish = (code) => {
        clearTimeout(timer);
        done(code);
      };
      page
        .exposeFunction('codeAutomationLog', () => undefined)
        .then(() => page.exposeFunction('codeAutomationExit', finish))
        .then(() =>
          page.goto(`${server.workspaceUrl(workspaceFile)}&payload=${encodeURIComponent(JSON.stringify(payload))}`),
        )
        .catch(fail);
    });
    if (exit !== 0) await page.screenshot({ path: join(await artifacts(), 'host.png') });
    return exit;
  } catch (error) {
    if (page) await page.screenshot({ path: join(await artifacts(), 'host.png') });
    process.stderr.write(`${readFileSync(server.logFile, 'utf8')}\n`);
    throw error;
  } finally {
    await browser.close();
    await server.stop();
  }
};

const onDesktop = async (env, workspaceFile) => {
  const { runTests, TestRunFailedError } = await import('@vscode/test-electron');
  const started = runTests({
    extensionDevelopmentPath: root,
    extensionTestsPath: bundle,
    extensionTestsEnv: { ...env, XDG_DATA_HOME: join(scratch, 'data'), XDG_CONFIG_HOME: join(scratch, 'config') },
    launchArgs: [
      workspaceFile,
      '--disable-extensions',
      '--disable-workspace-trust',
      '--user-data-dir',
      join(scratch, 'user'),
    ],
  });
  // It rejects when tests fail; which ones is in the result file, and said below.
  return started.catch((error) => {
    if (error instanceof TestRunFailedError && error.code !== undefined && existsSync(resultFile)) return error.code;
    throw error;
  });
};

let code = 1;
try {
  const { folder, file } = makeWorkspace();
  const { locate } = await import('./install.mjs');
  const { opencodeV1 } = await locate(['opencodeV1']);
  const env = {
    HOST_RESULT: resultFile,
    HOST_WORKSPACE: folder,
    HOST_OPENCODE: opencodeV1,
    ...(grep === undefined ? {} : { HOST_GREP: grep }),
    ...(process.env['RETRIES_FILE'] === undefined ? {} : { RETRIES_FILE: process.env['RETRIES_FILE'] }),
  };
  const exit = await (process.argv.includes('--desktop') ? onDesktop : inServer)(env, file);
  const { tests } = JSON.parse(readFileSync(resultFile, 'utf8'));
  for (const test of tests)
    process.stdout.write(
      `${test.state === 'passed' ? '  ok  ' : 'FAILED'} ${test.title} (${test.duration} ms)\n${test.error ? `${test.error}\n` : ''}`,
    );
  const failed = tests.filter((test) => test.state !== 'passed').length;
  process.stdout.write(`${tests.length - failed} passed, ${failed} failed\n`);
  // Two witnesses: the file that the tests wrote, and the exit code that VS Code reported.
  code = exit === 0 && failed === 0 && tests.length > 0 ? 0 : 1;
} catch (error) {
  process.stderr.write(`${error?.stack ?? error}\n`);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
process.exit(code);
