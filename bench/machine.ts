import { arch, cpus, loadavg, platform, release, totalmem } from 'node:os';
import { gitText } from './exec';

export interface Machine {
  cpu: string;
  cores: number;
  memoryGb: number;
  system: string;
  node: string;
  git: string;
  /** git's own file system watcher is there. */
  fsmonitor: boolean;
  loadBefore: number[];
  loadAfter: number[];
}

export async function describeMachine(): Promise<Machine> {
  const build = await gitText(['version', '--build-options']);
  const list = cpus();
  return {
    cpu: list[0]?.model.trim() ?? 'unknown',
    cores: list.length,
    memoryGb: Math.round(totalmem() / 1e9),
    system: `${platform()} ${release()} ${arch()}`,
    node: process.version,
    git: build.split('\n')[0]?.replace('git version ', '') ?? 'unknown',
    fsmonitor: /^feature: fsmonitor--daemon/m.test(build),
    loadBefore: load(),
    loadAfter: [],
  };
}

export const load = (): number[] => loadavg().map((value) => Math.round(value * 100) / 100);
