import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** Who holds a lock, so that another process can tell whether it still lives. */
export interface ProcessIdentity {
  pid: number;
  host: string;
  /** Changes when the machine restarts or the number is given to another process; empty where unknown. */
  start: string;
  /** Where the number counts: a container or a sandbox may have numbers of its own, and the machine's name. Not known of older ones. */
  space?: string;
}

let own: ProcessIdentity | null = null;

export function ownIdentity(): ProcessIdentity {
  own ??= { pid: process.pid, host: hostname(), start: startOf(process.pid), space: spaceOf() };
  return own;
}

/** Linux tells when a process started; elsewhere the number alone has to do. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return `${boot}:${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}`;
  } catch {
    return '';
  }
}

/** Linux tells which table of processes this one is in; elsewhere there is only one. */
function spaceOf(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}

/** Heartbeats decide for other machines and sandboxes (a store on a shared volume), the process table for this one. */
export function isAlive(identity: ProcessIdentity, heartbeatAgeMs: number): boolean {
  const { space } = ownIdentity();
  if (identity.host !== hostname() || (identity.space ?? space) !== space) return heartbeatAgeMs < 60_000;
  try {
    process.kill(identity.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  return identity.start === '' || identity.start === startOf(identity.pid);
}

/**
 * A draft whose name ends in the process that writes it, and that process is gone. Those of the living are left alone whatever lease one
 * holds: some are written without any, the drafts of leases themselves among them.
 */
export function isOrphan(name: string): boolean {
  const pid = /(?:tmp|new|dead|merge)-(\d+)-\w+$/.exec(name)?.[1];
  return pid !== undefined && !isAlive({ pid: Number(pid), host: hostname(), start: '' }, 0);
}
