import { spawn } from 'node:child_process';

export interface RunOptions {
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  input?: string | Uint8Array;
  /** Exit codes that are an answer, not a failure. */
  allow?: readonly number[];
}

export interface RunResult {
  code: number;
  stdout: Buffer;
  stderr: string;
}

/** Runs a program to its end; throws on an exit code that was not allowed. */
export function run(program: string, args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: options.cwd, env: options.env ?? process.env, windowsHide: true });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    child.on('error', reject);
    // A program that ends before it has read its input breaks the pipe; its exit code then tells the story.
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.input);
    child.on('close', (code, signal) => {
      const stderr = Buffer.concat(err).toString('utf8');
      const status = code ?? -1;
      if (status !== 0 && !options.allow?.includes(status))
        reject(
          new Error(
            `${program} ${args.slice(0, 8).join(' ')}: ${signal ?? `exit ${status}`}: ${stderr.trim().slice(0, 2000)}`,
          ),
        );
      else resolve({ code: status, stdout: Buffer.concat(out), stderr });
    });
  });
}

export const git = (args: readonly string[], options: RunOptions = {}): Promise<RunResult> => run('git', args, options);

/** Output of git as one trimmed string. */
export async function gitText(args: readonly string[], options: RunOptions = {}): Promise<string> {
  return (await git(args, options)).stdout.toString('utf8').trim();
}

/** Output of git as a list of NUL-ended strings. */
export async function gitList(args: readonly string[], options: RunOptions = {}): Promise<string[]> {
  return nulList((await git(args, options)).stdout.toString('utf8'));
}

export const nulList = (text: string): string[] => text.split('\0').filter((part) => part !== '');

/** Whether a program can be started. */
export async function canRun(program: string, args: readonly string[]): Promise<boolean> {
  return run(program, args).then(
    () => true,
    () => false,
  );
}

/** Writes dirty pages out, so that one engine's bytes are not written on another one's time. */
export async function settleDisk(): Promise<void> {
  if (process.platform !== 'win32') await run('sync', []);
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
