import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { BackupService } from '../../src/backup/service';
import type { Timing } from '../../src/backup/scheduler';
import { defaults, type Config } from '../../src/core/config';
import type { SessionExport } from '../../src/core/sessions';
import { FileServer } from './fixtures/file-server';

/** One machine: its home, its OpenCode (a folder of sessions that stands in for one), and its backup service. */
export class TestMachine {
  readonly server: FileServer;
  readonly service: BackupService;
  readonly lines: string[] = [];

  constructor(
    readonly home: string,
    readonly backup: string,
    change: Partial<Config> = {},
    timing?: Timing,
  ) {
    mkdirSync(join(home, 'sessions'), { recursive: true });
    this.server = new FileServer(join(home, 'sessions'));
    const options = {
      root: join(home, 'project'),
      home: join(home, 'store'),
      config: () => ({ ...defaults, 'backup.path': backup, ...change }),
      gateway: () => Promise.resolve(this.server),
      env: { HOME: home },
      log: (line: string) => this.lines.push(line),
    };
    this.service = new BackupService(options, timing);
  }
}

export interface Place {
  base: string;
  backup: string;
  machine(name?: string, change?: Partial<Config>, timing?: Timing): TestMachine;
}

/** A folder for machines and the backup they share, removed when the test ends. */
export function place(): Place {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'checkpoints-backup-')));
  const backup = join(base, 'backup');
  const machines: TestMachine[] = [];
  onTestFinished(async () => {
    for (const { service } of machines) await service.close();
    execFileSync('chmod', ['-R', 'u+rwX', base]);
    rmSync(base, { recursive: true, force: true });
  });
  return {
    base,
    backup,
    machine(name = 'one', change = {}, timing = undefined) {
      const made = new TestMachine(join(base, name), backup, change, timing);
      machines.push(made);
      return made;
    },
  };
}

/** All files below a folder and what is in them. */
export function tree(folder: string, prefix = ''): Map<string, string> {
  const files = new Map<string, string>();
  for (const entry of readdirSync(join(folder, prefix), { withFileTypes: true })) {
    const path = prefix === '' ? entry.name : `${prefix}/${entry.name}`;
    if (entry.isDirectory()) for (const [name, content] of tree(folder, path)) files.set(name, content);
    else files.set(path, readFileSync(join(folder, path), 'utf8'));
  }
  return files;
}

export const filesBelow = (folder: string, top: string): string[] =>
  [...tree(folder).keys()].filter((name) => name.startsWith(`${top}/`)).sort();

export const sha256 = (content: string): string => createHash('sha256').update(content).digest('hex');

export function write(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, content);
  renameSync(`${path}.new`, path);
}

export const read = (path: string): SessionExport => JSON.parse(readFileSync(path, 'utf8')) as SessionExport;
