import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, type RunnerTestCase } from 'vitest';
import type { Checkpoint } from '../../src/core/model';
import { runProgram, type Ran } from '../git/cli-rig';
import type { Workbench } from '../rig/browser';
import { startOpenCode, until, type Generation, type OpenCode, type OpenCodeOptions } from '../rig/opencode';
import { packagedExtension, VsCodeSession, type SessionOptions } from '../rig/vscode-session';
import { withStore } from './afternoon';

export const view = 'Checkpoints';
export const generations: Generation[] = ['v1', 'v2'];

const dist = fileURLToPath(new URL('../../dist/', import.meta.url));

/** A machine of somebody: one HOME in which OpenCode, its plugin and the command line keep everything. */
export class Machine {
  private constructor(readonly opencode: OpenCode) {}

  static async start(options: OpenCodeOptions): Promise<Machine> {
    // Makes the package, and with it the command line, when nobody has.
    packagedExtension();
    const machine = new Machine(await startOpenCode({ ...options, stopped: true }));
    try {
      const { code, stderr } = await machine.run(['plugin', 'install']);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      await machine.opencode.start();
    } catch (error) {
      await machine.dispose();
      throw error;
    }
    return machine;
  }

  get folder(): string {
    return this.opencode.workspace;
  }

  get generation(): Generation {
    return this.opencode.generation;
  }

  /** What every program of this machine sees. */
  get env(): Record<string, string> {
    const { env, url, password, binary } = this.opencode;
    const own = ['HOME', 'XDG_DATA_HOME', 'XDG_CONFIG_HOME', 'XDG_STATE_HOME', 'XDG_CACHE_HOME'];
    return {
      ...Object.fromEntries(own.map((key) => [key, env[key] ?? ''])),
      OPENCODE_SERVER_URL: url,
      OPENCODE_SERVER_PASSWORD: password,
      OPENCODE_BIN: binary,
    };
  }

  /** The command line as it ships. */
  run(args: string[], env: NodeJS.ProcessEnv = {}): Promise<Ran> {
    return runProgram(process.execPath, [join(dist, 'cli.js'), ...args], {
      cwd: this.folder,
      env: { ...this.opencode.env, ...this.env, ...env },
    });
  }

  async answer<T>(args: string[]): Promise<T> {
    const { code, stdout, stderr } = await this.run([...args, '--json']);
    expect({ code, stdout, stderr }).toMatchObject({ code: 0 });
    return JSON.parse(stdout) as T;
  }

  read(path: string): Promise<string> {
    return readFile(join(this.folder, path), 'utf8');
  }

  dispose(): Promise<void> {
    return this.opencode.dispose();
  }
}

/** A machine with a VS Code window on the project. */
export class Desk {
  private constructor(
    readonly machine: Machine,
    readonly session: VsCodeSession,
    private readonly story: string,
  ) {}

  static async start(
    story: string,
    machine: Machine,
    options: Omit<SessionOptions, 'folder' | 'files' | 'git'> = {},
  ): Promise<Desk> {
    const env = { ...machine.env, ...options.env };
    const session = await VsCodeSession.start({ ...options, folder: machine.folder, env });
    return new Desk(machine, session, story);
  }

  get opencode(): OpenCode {
    return this.machine.opencode;
  }

  get workbench(): Workbench {
    return this.session.workbench;
  }

  read(path: string): Promise<string> {
    return this.machine.read(path);
  }

  /** Checkpoints as another process reads them, newest first. */
  points(session?: string): Promise<Checkpoint[]> {
    return withStore(this.session, (api) => api.list(session === undefined ? {} : { session }));
  }

  /** A point comes a moment after what it is made for. */
  point(test: (point: Checkpoint) => boolean, what: string): Promise<Checkpoint> {
    return until(
      async () => (await this.points()).find(test),
      60_000,
      () => `no checkpoint: ${what}`,
    );
  }

  /** The session that the last restore made. */
  async forkMade(): Promise<string> {
    const { restore } = await this.point(({ restore: made }) => typeof made?.session === 'string', 'of a fork');
    return restore?.session ?? '';
  }

  /** The processes in which the extension runs. */
  extensionHosts(): number[] {
    const home = `HOME=${this.opencode.home}`;
    return readdirSync('/proc')
      .map(Number)
      .filter((pid) => {
        if (!(pid > 0)) return false;
        try {
          const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
          if (!command.includes('--type=extensionHost')) return false;
          return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(home);
        } catch {
          // Gone meanwhile, or another user's: not ours in either case.
          return false;
        }
      });
  }

  shot(name: string): Promise<string> {
    return this.workbench.screenshot(`story-${this.story}-${this.machine.generation}-${name}`);
  }

  async shotOfFailure(task: Readonly<RunnerTestCase>): Promise<void> {
    if (task.result?.state === 'fail') await this.shot(`failed-${task.name.replace(/\W+/g, '-')}`);
  }

  async stop(): Promise<void> {
    await this.session.stop();
    await this.machine.dispose();
  }
}
