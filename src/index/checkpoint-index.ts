import type { Database, SqlJsStatic, SqlValue } from 'sql.js';
import type { ListFilter } from '../core/api';
import { sweepLeftovers } from '../core/atomic-file';
import { CheckpointsError } from '../core/errors';
import type { Checkpoint, CheckpointId } from '../core/model';
import type { QueryIndex } from '../core/ports';
import { parseReference, resolveReference } from '../core/references';
import { wellFormed } from '../core/text';
import { selectionForReference, selectionOf, type Selection } from './filter';
import { digestOfRefs, readIndexFile, writeIndexFile } from './index-file';
import { RecordCache } from './record-cache';
import { fromRow, toRow } from './rows';
import * as schema from './schema';
import { loadSqlite, type WasmSource } from './sqlite';
import { statsFrom, type IndexStats } from './stats';

export interface IndexOptions {
  /** `workspaces/<id>/index.db`. */
  path: string;
  wasm: WasmSource;
  /** Told when the file cannot be used or, at the end, written: the index is derived, so work goes on. */
  onProblem?: (error: unknown) => void;
}

/** How the index came to be when it was opened: anything but `loaded` is built anew by the first `sync`. */
export type IndexOrigin = 'loaded' | 'missing' | 'damaged' | 'other-version';

/** Records are asked for in portions, so that never all of them are in memory as objects at once. */
const portion = 1000;
const cacheLimit = 32 * 1024 * 1024;

/**
 * List, search and statistics over the records of one workspace, in memory. The refs are the truth: `sync` brings it up to date by their
 * difference. The file is only a faster start; it is written by `flush` and `close`, never by `sync`.
 */
export class CheckpointIndex implements QueryIndex {
  /** What is in the database. */
  private readonly known = new Map<CheckpointId, { seq: number; commit: string }>();
  private readonly cache = new RecordCache(cacheLimit);
  private lastSeq = 0;
  private dirty = false;
  private closed = false;
  /** One sync or write after the other. */
  private tail: Promise<unknown> = Promise.resolve();

  private constructor(
    private readonly options: IndexOptions,
    private readonly db: Database,
    readonly origin: IndexOrigin,
  ) {
    db.exec(schema.settings);
    for (const [id, commit, seq] of this.all('SELECT id, commit_id, seq FROM checkpoints')) {
      this.known.set(String(id), { commit: String(commit), seq: Number(seq) });
      this.lastSeq = Math.max(this.lastSeq, Number(seq));
    }
  }

  static async open(options: IndexOptions): Promise<CheckpointIndex> {
    const sql = await loadSqlite(options.wasm);
    const file = await readIndexFile(options.path);
    if (file.state !== 'whole') return CheckpointIndex.empty(sql, options, file.state);
    const db = new sql.Database(file.database);
    try {
      const ours = pragma(db, 'application_id') === schema.applicationId;
      if (ours && pragma(db, 'user_version') === schema.schemaVersion)
        return new CheckpointIndex(options, db, 'loaded');
      db.close();
      return CheckpointIndex.empty(sql, options, 'other-version');
    } catch (error) {
      db.close();
      options.onProblem?.(error);
      return CheckpointIndex.empty(sql, options, 'damaged');
    }
  }

  private static empty(sql: SqlJsStatic, options: IndexOptions, origin: IndexOrigin): CheckpointIndex {
    const db = new sql.Database();
    db.exec(schema.createSchema);
    const index = new CheckpointIndex(options, db, origin);
    index.dirty = true;
    return index;
  }

  get size(): number {
    return this.known.size;
  }

  sync(refs: Map<CheckpointId, string>, load: (ids: CheckpointId[]) => Promise<Checkpoint[]>): Promise<void> {
    return this.inTurn(() => this.bringUpToDate(refs, load));
  }

  /** Newest first. What the fields hold (lists, task) is shared between answers: not to be changed. */
  query(filter: ListFilter = {}): Checkpoint[] {
    return this.select(selectionOf(filter));
  }

  get(id: CheckpointId): Checkpoint | null {
    const known = this.known.get(id);
    return known ? (this.read([known.seq], () => true)[0] ?? null) : null;
  }

  /** As `resolveReference` over all checkpoints, without reading them all. */
  resolve(reference: string): Checkpoint {
    const parsed = parseReference(reference);
    const selection = selectionForReference(parsed);
    if (parsed.kind === 'latest' && parsed.back < this.size) selection.limit = parsed.back + 1;
    return resolveReference(reference, this.select(selection));
  }

  stats(): IndexStats {
    return statsFrom((sql) => this.all(sql));
  }

  /** Writes the file if anything changed since it was read or written. */
  flush(): Promise<void> {
    return this.inTurn(async () => {
      if (!this.dirty || this.closed) return;
      this.compact();
      const bytes = this.db.export();
      // Exporting opens the database anew, with the settings of a fresh connection.
      this.db.exec(schema.settings);
      const refs = digestOfRefs(Array.from(this.known, ([id, { commit }]) => [id, commit] as const));
      this.dirty = false;
      try {
        await writeIndexFile(this.options.path, bytes, refs);
        await sweepLeftovers(this.options.path);
      } catch (error) {
        this.dirty = true;
        throw error;
      }
    });
  }

  async close(): Promise<void> {
    try {
      await this.flush();
    } catch (error) {
      this.options.onProblem?.(error);
    }
    if (this.closed) return;
    this.closed = true;
    this.known.clear();
    this.cache.clear();
    this.db.close();
  }

  private async bringUpToDate(
    refs: Map<CheckpointId, string>,
    load: (ids: CheckpointId[]) => Promise<Checkpoint[]>,
  ): Promise<void> {
    this.mustBeOpen();
    const gone = [...this.known.keys()].filter((id) => !refs.has(id));
    if (gone.length > 0) this.change(gone, []);
    const changed = [...refs].filter(([id, commit]) => this.known.get(id)?.commit !== commit).map(([id]) => id);
    for (let i = 0; i < changed.length; i += portion) {
      const wanted = new Set(changed.slice(i, i + portion));
      const records = await load([...wanted]);
      this.mustBeOpen();
      const rows = records.flatMap((record) => {
        // A record nobody asked for is not taken; one that is missing was deleted meanwhile, as the next refs will say.
        const commit = wanted.delete(record.id) ? refs.get(record.id) : undefined;
        return commit === undefined ? [] : [{ record, commit }];
      });
      this.change(
        rows.map(({ record }) => record.id).filter((id) => this.known.has(id)),
        rows,
      );
    }
  }

  /** All or nothing, and without a pause in between: a query never sees half of it. */
  private change(remove: CheckpointId[], add: Array<{ record: Checkpoint; commit: string }>): void {
    if (remove.length + add.length === 0) return;
    const rows = add.map(({ record, commit }, i) => ({
      seq: this.lastSeq + 1 + i,
      commit,
      row: toRow(record, commit),
    }));
    this.db.exec('BEGIN');
    try {
      const ids: SqlValue[][] = remove.map((id) => [id]);
      this.runEach(schema.deleteSearch, ids);
      this.runEach(schema.deleteRow, ids);
      this.runEach(
        schema.insertRow,
        rows.map(({ seq, row }) => [seq, ...row]),
      );
      this.runEach(
        schema.insertSearch,
        rows.map(({ seq, row }) => [seq, ...schema.searchPositions.map((i) => row[i] ?? null)]),
      );
      this.db.exec('COMMIT');
    } catch (error) {
      this.db.exec('ROLLBACK');
      throw error;
    }
    for (const id of remove) {
      this.cache.delete(this.known.get(id)?.seq ?? 0);
      this.known.delete(id);
    }
    rows.forEach(({ seq, commit }, i) => this.known.set(add[i]?.record.id ?? '', { seq, commit }));
    this.lastSeq += rows.length;
    this.dirty = true;
  }

  private select({ conditions, limit, changed }: Selection): Checkpoint[] {
    this.mustBeOpen();
    const where = conditions.map(({ sql }) => `(${sql})`).join(' AND ') || '1';
    const values = conditions.flatMap((condition) => condition.values);
    // Where the paths are compared exactly afterwards, the limit can only be applied then.
    const most = changed === null && limit !== Infinity ? limit : -1;
    const seqs = this.all(`SELECT seq FROM checkpoints WHERE ${where} ORDER BY id DESC LIMIT ${most}`, values);
    const test = (checkpoint: Checkpoint): boolean => changed === null || checkpoint.files.paths.some(changed);
    return this.read(
      seqs.map(([seq]) => Number(seq)),
      test,
      limit,
    );
  }

  private read(seqs: number[], test: (checkpoint: Checkpoint) => boolean, limit = Infinity): Checkpoint[] {
    const found: Checkpoint[] = [];
    const statement = this.db.prepare(schema.selectRow);
    try {
      for (const seq of seqs) {
        if (found.length >= limit) break;
        let checkpoint = this.cache.get(seq);
        if (checkpoint === undefined) {
          const row = statement.get([seq]);
          checkpoint = fromRow(row);
          this.cache.add(seq, checkpoint, weightOf(row));
        }
        if (test(checkpoint)) found.push({ ...checkpoint });
      }
    } finally {
      statement.free();
    }
    return found;
  }

  private runEach(sql: string, rows: SqlValue[][]): void {
    const statement = this.db.prepare(sql);
    try {
      for (const row of rows) statement.run(row);
    } finally {
      statement.free();
    }
  }

  private all(sql: string, values: SqlValue[] = []): SqlValue[][] {
    // Half a surrogate pair in what somebody typed would be written longer than it is counted, and eat what follows it.
    const sound = values.map((value) => (typeof value === 'string' ? wellFormed(value) : value));
    return this.db.exec(sql, sound)[0]?.values ?? [];
  }

  /** Gives back what deleted rows took, once it is a quarter of the file. */
  private compact(): void {
    if (pragma(this.db, 'freelist_count') * 4 > pragma(this.db, 'page_count')) this.db.exec('VACUUM');
  }

  private mustBeOpen(): void {
    if (this.closed) throw new CheckpointsError('cancelled', 'The index is closed.');
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.tail.then(work, work);
    // Whoever asked for it hears of its failure; the next one only waits for its end.
    this.tail = result.catch(() => undefined);
    return result;
  }
}

function pragma(db: Database, name: string): number {
  return Number(db.exec(`PRAGMA ${name}`)[0]?.values[0]?.[0]);
}

function weightOf(row: SqlValue[]): number {
  let characters = 0;
  for (const value of row) if (typeof value === 'string') characters += value.length;
  return characters;
}
