import { execFileSync, spawn } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect } from 'vitest';

const project = path.resolve(__dirname, '../..');

export interface Ran {
  code: number | null;
  stdout: string;
  bytes: Buffer;
  stderr: string;
}

function newest(folder: string): number {
  let time = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const full = path.join(folder, entry.name);
    time = Math.max(time, entry.isDirectory() ? newest(full) : statSync(full).mtimeMs);
  }
  return time;
}

/**
 * The command line (or the API) as it ships, for the tests of one file. A `dist` that is older than the sources is left alone, since
 * others may be running it: then the same bundle is made beside it.
 */
export function useBuilt(entry: 'cli' | 'api'): () => string {
  let file = '';
  let folder: string | null = null;
  beforeAll(async () => {
    const shipped = path.join(project, 'dist', `${entry}.js`);
    if (existsSync(shipped) && statSync(shipped).mtimeMs > newest(path.join(project, 'src'))) {
      file = shipped;
      return;
    }
    folder = mkdtempSync(path.join(tmpdir(), 'checkpoints-cli-'));
    file = path.join(folder, `${entry}.js`);
    await build({
      bundle: true,
      platform: 'node',
      target: 'node20',
      format: 'cjs',
      logLevel: 'error',
      absWorkingDir: project,
      entryPoints: [entry === 'cli' ? 'src/cli/main.ts' : 'src/cli/api.ts'],
      outfile: file,
    });
    copyFileSync(path.join(project, 'node_modules/sql.js/dist/sql-wasm.wasm'), path.join(folder, 'sql-wasm.wasm'));
  });
  afterAll(() => {
    if (folder) rmSync(folder, { recursive: true, force: true });
  });
  return () => file;
}

/** What is typed, or what to do at the question before it is typed. */
export type Answer = [question: string, answer: string | (() => string)];

/** One workspace in a home of its own, and the program run on it in real processes. */
export class Desk {
  readonly top = realpathSync(mkdtempSync(path.join(tmpdir(), 'checkpoints-desk-')));
  readonly home = path.join(this.top, 'home');
  readonly root = path.join(this.top, 'project');
  readonly env: NodeJS.ProcessEnv;

  constructor(
    readonly program: string,
    options: { git?: boolean } = {},
  ) {
    mkdirSync(this.home);
    mkdirSync(this.root);
    this.env = {
      PATH: process.env['PATH'],
      HOME: this.home,
      XDG_DATA_HOME: path.join(this.home, 'data'),
      XDG_CONFIG_HOME: path.join(this.home, 'config'),
      XDG_STATE_HOME: path.join(this.home, 'state'),
      XDG_CACHE_HOME: path.join(this.home, 'cache'),
      TZ: 'UTC',
      LC_ALL: 'C.UTF-8',
    };
    if (options.git ?? true) this.git('init', '-q', '-b', 'main');
  }

  git(...args: string[]): string {
    return execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.org', ...args], {
      cwd: this.root,
      env: this.env,
      encoding: 'utf8',
    });
  }

  write(files: Record<string, string | Uint8Array>): void {
    for (const [name, content] of Object.entries(files)) {
      const file = path.join(this.root, name);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, content);
    }
  }

  remove(name: string): void {
    rmSync(path.join(this.root, name), { recursive: true });
  }

  run(
    args: string[],
    options: { cwd?: string; env?: NodeJS.ProcessEnv; input?: string | Uint8Array } = {},
  ): Promise<Ran> {
    return runProgram(process.execPath, [this.program, ...args], {
      cwd: options.cwd ?? this.root,
      env: { ...this.env, ...options.env },
      input: options.input,
    });
  }

  /** Runs with `--json`, checks that stdout is one document and stderr empty, and gives it back. */
  async document(args: string[], code = 0, options: Parameters<Desk['run']>[1] = {}): Promise<Record<string, unknown>> {
    const end = args.indexOf('--');
    const line = end < 0 ? [...args, '--json'] : [...args.slice(0, end), '--json', ...args.slice(end)];
    const ran = await this.run(line, options);
    expect({ code: ran.code, stdout: ran.stdout, stderr: ran.stderr }).toEqual({
      code,
      stdout: ran.stdout,
      stderr: '',
    });
    expect(ran.stdout.trimEnd().split('\n')).toHaveLength(1);
    return JSON.parse(ran.stdout) as Record<string, unknown>;
  }

  async answer<T>(args: string[], options: Parameters<Desk['run']>[1] = {}): Promise<T> {
    return (await this.document(args, 0, options)) as T;
  }

  /** The reason of a refusal. */
  async refusal(
    args: string[],
    code = 1,
    options: Parameters<Desk['run']>[1] = {},
  ): Promise<{ reason: string; message: string }> {
    const { error, ...rest } = await this.document(args, code, options);
    expect(rest).toEqual({});
    expect(Object.keys(error as object).sort()).toEqual(['message', 'reason']);
    return error as { reason: string; message: string };
  }

  /** At a terminal: util-linux' `script` gives the program a real one. Its answers are typed as the questions come. */
  async atTerminal(args: string[], answers: Answer[] = [], env: NodeJS.ProcessEnv = {}): Promise<Ran> {
    const line = [process.execPath, this.program, ...args]
      .map((word) => `'${word.replaceAll("'", `'\\''`)}'`)
      .join(' ');
    return runProgram('script', ['-qefc', line, '/dev/null'], {
      cwd: this.root,
      env: { ...this.env, TERM: 'xterm', ...env },
      answers,
    });
  }

  dispose(): void {
    rmSync(this.top, { recursive: true, force: true });
  }
}

interface RunOptions {
  cwd: string;
  env: NodeJS.ProcessEnv;
  input?: string | Uint8Array;
  answers?: Answer[];
}

export function runProgram(command: string, args: string[], options: RunOptions): Promise<Ran> {
  return new Promise((done, fail) => {
    const child = spawn(command, args, { cwd: options.cwd, env: options.env });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    const waiting = [...(options.answers ?? [])];
    let seen = '';
    child.stdout.on('data', (chunk: Buffer) => {
      out.push(chunk);
      seen += chunk.toString();
      while (waiting[0] && seen.includes(waiting[0][0])) {
        const [question, answer] = waiting[0];
        seen = seen.slice(seen.indexOf(question) + question.length);
        child.stdin.write(typeof answer === 'string' ? answer : answer());
        waiting.shift();
      }
    });
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    child.stdin.on('error', (error: NodeJS.ErrnoException) => {
      // The program may end without reading what it was given.
      if (error.code !== 'EPIPE') fail(error);
    });
    child.on('error', fail);
    child.on('close', (code) => {
      const bytes = Buffer.concat(out);
      done({ code, bytes, stdout: bytes.toString('utf8'), stderr: Buffer.concat(err).toString('utf8') });
    });
    if (options.answers === undefined) child.stdin.end(options.input ?? '');
    else if (options.answers.length === 0) child.stdin.end();
  });
}
