import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../..', import.meta.url));
/** Tracked files, and new ones that are not ignored: what the next commit may hold. */
const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root })
  .toString()
  .split('\0')
  .filter((file) => file !== '' && existsSync(join(root, file)));

/** `userInfo` knows the real home, also when HOME points into a temporary folder. */
const homes = [homedir(), userInfo().homedir].map((home) => `${home}/`);
const machinePaths = [root, realpathSync(root), ...homes].map((path) => path.replace(/\/+$/, '/'));
const registryHost = /\bregistry\.[a-z0-9-]+\.[a-z]|https?:\/\/[^\s"']*\/-\/[^\s"']*\.tgz/i;

const complaints = (name: string, text: string): string[] =>
  text.split('\n').flatMap((line, number) => {
    const place = `${name}:${number + 1}`;
    const paths = machinePaths.filter((path) => path.length > 2 && line.includes(path));
    return [
      ...paths.map((path) => `${place} holds the path ${path}`),
      ...(registryHost.test(line) ? [`${place} names a registry`] : []),
    ];
  });

describe('repository', () => {
  it('has files to look at', () => {
    expect(files.length).toBeGreaterThan(10);
  });

  it('names no path of the machine it was written on and no package registry', () => {
    const texts = files.filter((file) => !/\.(png|gif|ttf|wasm|ico)$/.test(file));
    expect(texts.flatMap((file) => complaints(file, readFileSync(join(root, file), 'utf8')))).toEqual([]);
  });

  it('runs every file of host tests: they are bundled by name', () => {
    const index = readFileSync(join(root, 'test/host/index.ts'), 'utf8');
    const names = files
      .map((file) => /^test\/host\/(.+\.test)\.ts$/.exec(file)?.[1])
      .filter((name) => name !== undefined);
    expect(names.length).toBeGreaterThan(0);
    expect(names.filter((name) => !index.includes(`import('./${name}')`))).toEqual([]);
  });

  it('would notice a path and a registry', () => {
    const host = ['https://registry', 'example', 'org/x'].join('.');
    expect(complaints('x', `a\n${root}src\n`)[0]).toContain('x:2 holds the path');
    expect(complaints('x', `"resolved": "${host}"`)).toEqual(['x:1 names a registry']);
  });

  describe('lock file', () => {
    interface Entry {
      resolved?: string;
      integrity?: string;
      optionalDependencies?: Record<string, string>;
    }
    const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, Entry>;
    };
    const entries = Object.entries(lock.packages).filter(([path]) => path !== '');

    it('holds packages by content, not by where they were downloaded', () => {
      expect(entries.filter(([, entry]) => entry.resolved !== undefined).map(([path]) => path)).toEqual([]);
      expect(entries.filter(([, entry]) => entry.integrity === undefined).map(([path]) => path)).toEqual([]);
    });

    it('knows every optional package, of all platforms: npm ci refuses it otherwise', () => {
      const locked = (from: string, name: string): boolean => {
        if (`${from}${from ? '/' : ''}node_modules/${name}` in lock.packages) return true;
        return from !== '' && locked(from.slice(0, Math.max(0, from.lastIndexOf('/node_modules/'))), name);
      };
      const missing = entries.flatMap(([path, entry]) =>
        Object.keys(entry.optionalDependencies ?? {})
          .filter((name) => !locked(path, name))
          .map((name) => `${name} of ${path}`),
      );
      expect(missing).toEqual([]);
    });
  });
});
