import { createHash } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, writeAtomic } from '../core/atomic-file';
import { withShortLock } from '../core/short-lock';
import type { BackupProblem } from './api';
import { localFolder } from './machine';

/** What all processes of this machine know about one destination. */
export interface LocalFacts {
  /** Which backup was there: one that is gone is not begun anew unasked. */
  backupId: string | null;
  /** When the last run began, and when one last ended well; ISO 8601. */
  lastRunAt: string | null;
  lastSuccessAt: string | null;
  problem: BackupProblem | null;
  /** Sessions whose files were found damaged: the next run writes them again. */
  suspects: string[];
  /** The session that a restore is bringing in, should it be cut off there. */
  restoring: { id: string; sha256: string } | null;
}

const nothing: LocalFacts = {
  backupId: null,
  lastRunAt: null,
  lastSuccessAt: null,
  problem: null,
  suspects: [],
  restoring: null,
};

export class LocalState {
  private readonly stem: string;

  constructor(
    private readonly home: string,
    readonly destination: string,
  ) {
    const key = createHash('sha256').update(destination).digest('hex').slice(0, 16);
    this.stem = join(localFolder(home), key);
  }

  get runLock(): string {
    return `${this.stem}.run.lock`;
  }

  get restoreLock(): string {
    return `${this.stem}.restore.lock`;
  }

  async read(): Promise<LocalFacts> {
    try {
      return { ...nothing, ...(JSON.parse(await readFile(`${this.stem}.json`, 'utf8')) as Partial<LocalFacts>) };
    } catch (error) {
      // It only remembers; a broken memory is none.
      if (codeOf(error) === 'ENOENT' || error instanceof SyntaxError) return { ...nothing };
      throw error;
    }
  }

  async update(change: Partial<LocalFacts>): Promise<void> {
    await mkdir(localFolder(this.home), { recursive: true, mode: 0o700 });
    await withShortLock(`${this.stem}.lock`, async (confirm) => {
      const now = { destination: this.destination, ...(await this.read()), ...change };
      await writeAtomic(`${this.stem}.json`, `${JSON.stringify(now, null, 2)}\n`, 0o600, confirm);
    });
  }
}
