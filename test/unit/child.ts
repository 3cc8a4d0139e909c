import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll } from 'vitest';

/** A fixture as a program of its own, for tests of what several processes do to each other. */
export function program(fixture: string): { start(args: string[]): ChildProcess; run(args: string[]): Promise<void> } {
  let folder = '';
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'program-'));
    await build({
      entryPoints: [join(import.meta.dirname, 'fixtures', fixture)],
      outfile: join(folder, 'program.mjs'),
      bundle: true,
      platform: 'node',
      format: 'esm',
      logLevel: 'error',
    });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const start = (args: string[]): ChildProcess =>
    spawn(process.execPath, [join(folder, 'program.mjs'), ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  return {
    start,
    run: (args) =>
      new Promise((resolve, reject) => {
        const child = start(args);
        child.on('error', reject);
        child.on('close', (code) => (code === 0 ? resolve() : reject(new Error(`It ended with ${code}.`))));
      }),
  };
}
