import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll } from 'vitest';
import type { Sandbox } from './rig';

const folder = import.meta.dirname;

export interface WorkerOutput {
  code: number | null;
  signal: NodeJS.Signals | null;
  output: unknown;
  stderr: string;
}

export interface Worker {
  /** `through`: a command that starts the process in other surroundings. */
  run(box: Sandbox, args: string[], env?: NodeJS.ProcessEnv, through?: string[]): Promise<WorkerOutput>;
}

/** Operations in real processes of their own, for tests about several of them, and about their death. */
export function worker(): Worker {
  let dir = '';
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'checkpoints-worker-'));
    chmodSync(dir, 0o755);
    await build({
      entryPoints: [join(folder, 'fixtures', 'worker.ts')],
      outfile: join(dir, 'worker.js'),
      bundle: true,
      platform: 'node',
      format: 'cjs',
      logLevel: 'error',
    });
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  return {
    run: (box, args, env = {}, through = []) =>
      new Promise((resolve, reject) => {
        const preload = env.FAULT_AT ? ['--require', join(folder, 'fixtures', 'fault.cjs')] : [];
        const who = env.RUN_AS ? { uid: 65534, gid: 65534 } : {};
        const words = [process.execPath, ...preload, join(dir, 'worker.js'), box.root, box.home, ...args];
        const [program, ...rest] = [...through, ...words];
        const child = spawn(program!, rest, {
          env: { ...process.env, ...env },
          cwd: box.root,
          ...who,
          stdio: ['ignore', 'pipe', 'pipe'],
        });
        let stdout = '';
        let stderr = '';
        child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
        child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
        child.on('error', reject);
        child.on('close', (code, signal) => {
          let output: unknown = null;
          try {
            output = stdout === '' ? null : JSON.parse(stdout);
          } catch {
            output = stdout;
          }
          resolve({ code, signal, output, stderr });
        });
      }),
  };
}
