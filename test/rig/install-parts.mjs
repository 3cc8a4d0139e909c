// The parts the tests and the demo stand on: how each is found, and how it is installed.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheRoot, installOnce } from './install-cache.mjs';
import {
  MissingError,
  aptInstall,
  cleanNpmEnv,
  isExecutable,
  onPath,
  run,
  say,
  tryWithout,
} from './install-system.mjs';

export const checkout = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

const VERSIONS = { codeServer: '4.139.1', node: '24.21.0', opencodeV1: '1.18.33', opencodeV2: '2.0.15' };
const os = process.platform === 'win32' ? 'windows' : process.platform;
const exe = process.platform === 'win32' ? '.exe' : '';
const target = `${os}-${process.arch}`;

const npmInstall = (cwd, env, ...flags) =>
  run('npm', ['install', '--no-audit', '--no-fund', '--no-progress', ...flags], { cwd, env: cleanNpmEnv(env) });

const writeManifest = (folder, manifest) =>
  writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, ...manifest }, null, 2));

/** A folder of the cache that npm fills. */
async function npmFolder(folder, label, isComplete, fill) {
  const started = Date.now();
  const installed = await installOnce(folder, isComplete, async (temporary) => {
    say(`Installing ${label} into ${dirname(folder)}`);
    await fill(temporary);
  });
  if (installed) say(`Installed ${label} in ${Math.round((Date.now() - started) / 1000)} s`);
}

/** The tools of this checkout, compared with the lock file by content: a fresh clone makes time stamps meaningless. */
function modulesMatchLock() {
  const [wanted, present] = ['package-lock.json', 'node_modules/.package-lock.json'].map((name) =>
    join(checkout, name),
  );
  if (!existsSync(present)) return false;
  const lock = JSON.parse(readFileSync(wanted, 'utf8')).packages;
  const have = JSON.parse(readFileSync(present, 'utf8')).packages;
  return Object.entries(lock).every(([path, entry]) => {
    if (path === '') return true;
    return have[path] ? have[path].version === entry.version : Boolean(entry.optional || entry.peer);
  });
}

const modules = {
  find: () => (modulesMatchLock() ? { modules: join(checkout, 'node_modules') } : undefined),
  async install() {
    say('Installing node modules (npm ci)');
    await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--no-progress'], {
      cwd: checkout,
      env: cleanNpmEnv(),
    });
  },
};

const git = {
  find: () => (onPath('git') ? { git: onPath('git') } : undefined),
  install: () => aptInstall('git', ['git'], 'Install git (https://git-scm.com) and put it on PATH.'),
};

/** Asks the index ordinary questions, as a user might. */
const sqlite = {
  find: () => (onPath('sqlite3') ? { sqlite: onPath('sqlite3') } : undefined),
  install: () => aptInstall('sqlite3', ['sqlite3'], 'Install the sqlite3 command line with your package manager.'),
};

const CHROMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];

function findChromium() {
  const named = process.env.CHROMIUM_PATH;
  if (named) return isExecutable(named) ? named : undefined;
  const found = onPath(...CHROMES);
  if (found) return found;
  const mac = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome';
  if (isExecutable(mac)) return mac;
  if (!existsSync(join(checkout, 'node_modules', 'playwright-core'))) return undefined;
  const downloaded = createRequire(join(checkout, 'package.json'))('playwright-core').chromium.executablePath();
  return isExecutable(downloaded) ? downloaded : undefined;
}

const chromium = {
  find: () => (findChromium() ? { chromium: findChromium() } : undefined),
  install: () =>
    aptInstall(
      'Chromium',
      ['chromium', 'fonts-liberation', 'fonts-dejavu-core'],
      'Install Chromium or Chrome and put it on PATH, or set CHROMIUM_PATH to its executable, or run: npx playwright-core install --with-deps chromium',
    ),
};

const vscodeFolder = () => join(cacheRoot(), `vscode-${VERSIONS.codeServer}-node-${VERSIONS.node}-${target}`);
const nodePackage = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;

function findVscode(folder = vscodeFolder()) {
  const codeServerEntry = join(folder, 'node_modules', 'code-server', 'out', 'node', 'entry.js');
  const node24 = join(folder, 'node_modules', nodePackage, 'bin', `node${exe}`);
  // Made by the install script, at its end: without it the server starts and then answers every page with 500.
  const built = join(folder, 'node_modules', 'code-server', 'lib', 'vscode', 'node_modules', '.package-lock.json');
  return [codeServerEntry, node24, built].every((file) => existsSync(file)) ? { codeServerEntry, node24 } : undefined;
}

/** VS Code as a server, built from npm by the Node it wants; that Node comes from npm too. */
const vscode = {
  find: () => findVscode(),
  async install() {
    if (process.platform === 'win32')
      throw new MissingError(
        'the VS Code server (it does not run on Windows)',
        'Run the host suite on a desktop VS Code instead: npm test -- host --desktop',
      );
    let missing;
    if (process.platform === 'linux')
      await aptInstall(
        'what the native modules of the VS Code server are built with',
        ['libkrb5-dev', 'python3', 'make', 'g++', 'pkg-config'],
        'Install the Kerberos headers (gssapi.h), Python 3, make, a C++ compiler and pkg-config with your package manager.',
      ).catch((error) => {
        // Another distribution may well have all of it under other names; the build itself will tell.
        if (!(error instanceof MissingError) || process.getuid?.() === 0) throw error;
        missing = error;
        say(`${error.message}\n  Trying without.`);
      });
    const label = `VS Code server ${VERSIONS.codeServer} (about 5 minutes, 800 MB)`;
    const fill = async (folder) => {
      // Two steps, because the install scripts of the second must already run on the Node of the first.
      const node = { [nodePackage]: VERSIONS.node };
      await writeManifest(folder, { dependencies: node });
      await npmInstall(folder, {}, '--ignore-scripts');
      const home = join(folder, 'node_modules', nodePackage);
      await writeManifest(folder, {
        dependencies: { ...node, 'code-server': VERSIONS.codeServer },
        // npm 11 silently skips the install scripts that are not named here.
        allowScripts: { [`code-server@${VERSIONS.codeServer}`]: true, 'argon2@0.44.0': true },
      });
      const env = { PATH: `${join(home, 'bin')}:${process.env.PATH}`, npm_config_nodedir: home };
      await npmInstall(folder, env, '--foreground-scripts');
      if (!findVscode(folder)) throw new Error('npm installed the VS Code server without running its install scripts');
    };
    await tryWithout(missing, () => npmFolder(vscodeFolder(), label, () => !!findVscode(), fill));
  },
};

/** The packages that hold OpenCode's executable for this platform; `baseline` runs on every x64 processor. */
const musl = process.platform === 'linux' && existsSync('/etc/alpine-release') ? '-musl' : '';
const baseline = process.arch === 'x64' ? '-baseline' : '';

function opencode(key, variable, name, version) {
  const folder = () => join(cacheRoot(), `opencode-${version}-${target}`);
  const binary = () => join(folder(), 'node_modules', ...name.split('/'), 'bin', `opencode${exe}`);
  return {
    find() {
      const file = process.env[variable] || binary();
      return isExecutable(file) ? { [key]: file } : undefined;
    },
    async install() {
      const how = `Install OpenCode ${version} by hand and set ${variable} to its executable.`;
      if (process.env[variable]) throw new MissingError(`${variable}=${process.env[variable]}`, how);
      const fill = async (temporary) => {
        await writeManifest(temporary, { dependencies: { [name]: version } });
        await npmInstall(temporary, {}, '--ignore-scripts');
      };
      await npmFolder(folder(), `OpenCode ${version}`, () => isExecutable(binary()), fill).catch((error) => {
        throw new MissingError(`OpenCode ${version} for ${target}`, `${how}\n${error.message}`);
      });
    },
  };
}

export const parts = {
  modules,
  git,
  sqlite,
  chromium,
  vscode,
  opencodeV1: opencode('opencodeV1', 'OPENCODE_V1_BIN', `opencode-${target}${baseline}${musl}`, VERSIONS.opencodeV1),
  opencodeV2: opencode('opencodeV2', 'OPENCODE_V2_BIN', `@opencode/cli-${target}${baseline}`, VERSIONS.opencodeV2),
};
