import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A process as it can be known again: numbers are given to others, start times are not. */
export interface ProcessInfo {
  pid: number;
  start: string;
  command: string;
}

/** null when there is no such process (or only its remains). */
export async function processInfo(pid: number): Promise<ProcessInfo | null> {
  if (process.platform === 'linux') return linuxInfo(pid);
  const query =
    process.platform === 'win32'
      ? run('powershell', ['-NoProfile', '-NonInteractive', '-Command', windowsQuery(pid)])
      : run('ps', ['-p', String(pid), '-o', 'lstart=', '-o', 'command=']);
  // Both answer with an error status when there is no such process.
  const line = await query.then(
    ({ stdout }) => stdout.trim(),
    () => '',
  );
  // `Mon Nov 16 04:06:00 2026 command`, and on Windows one number.
  const match = process.platform === 'win32' ? /^(\d+) (.*)$/s.exec(line) : /^(.{24}) (.*)$/s.exec(line);
  return match ? { pid, start: match[1] ?? '', command: match[2] ?? '' } : null;
}

function windowsQuery(pid: number): string {
  return `Get-CimInstance Win32_Process -Filter 'ProcessId=${pid}' | ForEach-Object { "$($_.CreationDate.ToFileTimeUtc()) $($_.CommandLine)" }`;
}

function linuxInfo(pid: number): ProcessInfo | null {
  const stat = linuxStat(pid);
  if (!stat || stat.state === 'Z') return null;
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
    return { pid, start: `${bootId()}:${stat.start}`, command };
  } catch {
    // It ended between the two readings.
    return null;
  }
}

function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
}

function linuxStat(pid: number): { state: string; group: number; start: string } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name in parentheses may itself hold spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', group: Number(fields[2]), start: fields[19] ?? '' };
  } catch {
    return null;
  }
}

/** All processes of a group: `opencode` may be a small launcher of the real program. */
export async function groupMembers(group: number): Promise<number[]> {
  if (process.platform === 'win32') return [group];
  if (process.platform === 'linux')
    return readdirSync('/proc')
      .map(Number)
      .filter((pid) => pid > 0 && linuxStat(pid)?.group === group);
  const { stdout } = await run('ps', ['-A', '-o', 'pid=', '-o', 'pgid=']);
  return stdout
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([pid, itsGroup]) => (pid !== undefined && itsGroup === group ? [pid] : []));
}

/**
 * The processes that were started with this in their environment, as `NAME=value`, and the ones below them. Where other processes'
 * environments cannot be read (Windows, another user's), none.
 */
export async function startedWith(variable: string): Promise<ProcessInfo[]> {
  const pids = process.platform === 'linux' ? linuxWith(variable) : await macWith(variable);
  return (await Promise.all(pids.map(processInfo))).filter((found) => found !== null);
}

function linuxWith(variable: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => {
      try {
        return pid > 0 && readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(variable);
      } catch {
        // Gone by now, or not ours to look at.
        return false;
      }
    });
}

async function macWith(variable: string): Promise<number[]> {
  if (process.platform !== 'darwin') return [];
  const { stdout } = await run('ps', ['-A', '-E', '-ww', '-o', 'pid=', '-o', 'command='], { maxBuffer: 1 << 28 });
  const lines = stdout.split('\n').filter((line) => line.split(' ').includes(variable));
  return lines.map((line) => Number.parseInt(line, 10));
}

export async function isSame(known: Pick<ProcessInfo, 'pid' | 'start'>): Promise<boolean> {
  return (await processInfo(known.pid))?.start === known.start;
}

/** A signal to one process; false when it is gone. */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}
