import { join } from 'node:path';
import type * as vscode from 'vscode';
import { CheckpointsError } from '../core/errors';
import type { SessionGateway } from '../core/sessions';
import type { ImportReport, Source } from '../imports/model';
import type { Offer } from '../imports/offers';
import type { ImportNeeds } from '../imports/run';
import type { Backup } from './backup';
import type { Root } from './root';

export interface ImportChoice {
  from: Source;
  /** Left out: the usual place. */
  path?: string;
  /** The path is one that was found, not one that somebody named. */
  found?: boolean;
}

/** Importing older programs' data, loaded when somebody asks for it. */
export class OldData {
  private tail: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly extension: vscode.Uri,
    private readonly backup: Backup,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  async find(root: Root): Promise<Offer[]> {
    const { findOldData } = await import('../imports/offers');
    return findOldData(this.needs(root));
  }

  /** What nobody was asked about yet; asked about from now on. One after the other: two at once would both find it new. */
  fresh(root: Root): Promise<Offer[]> {
    const result = this.tail.then(async () => {
      const { findOldData, Offered } = await import('../imports/offers');
      const offered = new Offered(root.api.folder);
      const offers = await findOldData(this.needs(root), await offered.read());
      if (offers.length > 0) await offered.add(offers);
      return offers;
    });
    // Whoever asked hears of a failure; the next one only waits for its end.
    this.tail = result.catch(() => undefined);
    return result;
  }

  async run(root: Root, choice: ImportChoice, signal?: AbortSignal): Promise<ImportReport> {
    const { from, path } = choice;
    const report = from === 's4' ? await this.sessions(root, choice, signal) : await this.checkpoints(root, from, path);
    for (const { item, message } of report.problems) this.log.warn(`import of ${from}: ${item}: ${message}`);
    return report;
  }

  private async checkpoints(root: Root, from: Exclude<Source, 's4'>, path?: string): Promise<ImportReport> {
    const { runImport } = await import('../imports/run');
    return runImport({ from, path }, this.needs(root));
  }

  private async sessions(root: Root, choice: ImportChoice, signal?: AbortSignal): Promise<ImportReport> {
    const [{ importSessions }, { s4Default }] = await Promise.all([
      import('../imports/s4'),
      import('../imports/s4-places'),
    ]);
    const path = choice.path ?? s4Default();
    if (path === null)
      throw new CheckpointsError('invalid-argument', 'No old session backup was found at its usual places.');
    const named = choice.path !== undefined && choice.found !== true;
    return importSessions({ path, named, signal }, root.api.root, await this.backup.api());
  }

  private needs(root: Root): ImportNeeds {
    return {
      workspace: root.api,
      wasm: { file: join(this.extension.fsPath, 'dist', 'sql-wasm.wasm') },
      gateway: () => this.running(root),
    };
  }

  /** Titles and messages are nice to have; a server is not started for them, and one that fails does not stop the import. */
  private async running(root: Root): Promise<SessionGateway | null> {
    try {
      return await root.sessions.running();
    } catch (error) {
      this.log.info(`imported without asking OpenCode: ${String(error)}`);
      return null;
    }
  }
}
