import type { BackupReport, SessionRestoreReport } from './api';
import type { BackupFolder } from './folder';
import { syncLog } from './layout';
import type { Machine } from './machine';

/** Longer than this it is begun anew, with what it had last. */
const maxBytes = 1 << 20;

/** The file that tells what happened to a backup, for people who look into the folder. Runs that changed nothing are left out. */
export class SyncLog {
  constructor(
    private readonly folder: BackupFolder,
    private readonly machine: Machine,
    private readonly debug: boolean,
  ) {}

  async ran(report: BackupReport): Promise<void> {
    const { written, unchanged, deleted, kept, failed, bytes, durationMs, problem } = report;
    if (!this.debug && written + deleted + failed.length === 0 && problem === null) return;
    const counts = `${written} written (${bytes} bytes), ${unchanged} unchanged, ${deleted} deleted, ${kept} kept`;
    const end = problem === null ? 'ok' : `${problem.trouble}: ${problem.message}`;
    const details = failed.map(({ id, message }) => `failed ${id}: ${message}`);
    await this.add([`backup ${counts}, ${durationMs} ms: ${end}`, ...details]);
  }

  async restored({ restored, skipped, failed, durationMs }: SessionRestoreReport): Promise<void> {
    const details = this.debug ? restored.map(({ from, id, file }) => `restored ${from} as ${id} from ${file}`) : [];
    const counts = `${restored.length} restored, ${skipped.length} skipped, ${failed.length} failed`;
    await this.add([`restore ${counts}, ${durationMs} ms`, ...details]);
  }

  private async add(lines: string[]): Promise<void> {
    const start = `${new Date().toISOString()} ${this.machine.id}`;
    const text = lines.map((line) => `${start} ${line.replaceAll('\n', ' ')}\n`).join('');
    const size = await this.folder.size(syncLog);
    if (size !== null && size > maxBytes) {
      const old = (await this.folder.read(syncLog))?.toString('utf8') ?? '';
      await this.folder.write(syncLog, old.slice(-maxBytes / 2).replace(/^[^\n]*\n/, '') + text);
    } else await this.folder.appendLoosely(syncLog, text);
  }
}
