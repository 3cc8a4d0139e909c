import type { ListedSession, SessionExport, Todo } from '../core/sessions';
import { factsOf, parseDocument, printed, type DocumentFacts } from './document';
import { hashOf, type BackupFolder, type Written } from './folder';
import { deletedFile, folders, projectFolder, sessionFile, todosFile, versionFile } from './layout';
import type { Machine } from './machine';
import { readManifests, type Manifest, type SessionRecord, type VersionRecord } from './manifest';
import { isSettled, pruneVersions } from './plan';

export interface ReadSession {
  listed: ListedSession;
  document: SessionExport;
  /** null where OpenCode has none. */
  todos: Todo[] | null;
  /** When reading began. */
  readAt: number;
}

interface SaverOptions {
  folder: BackupFolder;
  manifest: Manifest;
  machine: Machine;
  /** Versions of each session, the newest included. */
  generations: number;
}

/**
 * Puts one session into the backup. Nothing is replaced before it has a place among the older versions, and before the journal tells what comes
 * instead; so the process may die on any line.
 */
export class SessionSaver {
  private others: Map<string, string> | null = null;

  constructor(private readonly options: SaverOptions) {}

  /** The number of bytes written; 0 when it was there already. */
  async save(read: ReadSession): Promise<number> {
    const { folder, manifest, machine } = this.options;
    const { id, projectId } = read.listed.session;
    const before = manifest.get(id);
    const facts = factsOf(read.document);
    const project = projectFolder(facts.projectId ?? projectId);
    const content = printed(read.document);
    const own = { size: Buffer.byteLength(content), sha256: hashOf(content) };
    const todos = todosText(read.todos, before);
    const found = await this.look(sessionFile(project, id), before);
    // Another machine went on with the same session, and further: its version stays in place, this one goes beside it.
    const isBehind =
      found !== null && found.version.machine !== machine.id && found.version.updatedAt > facts.updatedAt;
    const same = found?.version.sha256 === own.sha256;
    const place = isBehind && !same ? versionFile(project, id, facts.updatedAt, own.sha256) : sessionFile(project, id);
    const record = this.record(
      read,
      facts,
      { ...own, file: place, todos: todos === null ? null : written(todos) },
      project,
      before,
    );
    record.older = await this.olderVersions(record, before, same || isBehind ? null : found);
    const { kept, dropped } = pruneVersions(record, record.older, this.options.generations);
    record.older = kept;
    manifest.discard(dropped.filter((version) => version.machine === machine.id).map(({ file }) => file));
    const inPlace = same || (isBehind && (await folder.size(place)) === own.size);
    return this.put(record, inPlace ? null : content, todos, inPlace || isBehind ? null : found);
  }

  private async put(
    record: SessionRecord,
    content: string | null,
    todos: string | null,
    found: Found | null,
  ): Promise<number> {
    const { folder, manifest } = this.options;
    const todosPlace = todosFile(record.file);
    const oldTodos = todos === null ? null : await folder.read(todosPlace);
    const writeTodos = todos !== null && (oldTodos === null || hashOf(oldTodos) !== record.todos?.sha256);
    let bytes = 0;
    if (content !== null) {
      await folder.write(record.file, content, async () => {
        if (found) await this.keep(record.file, found.version);
        await manifest.note(record);
      });
      bytes += record.size;
    } else if (writeTodos) await manifest.note(record);
    if (writeTodos) bytes += (await folder.write(todosPlace, todos)).size;
    manifest.set(record);
    return bytes;
  }

  private async keep(file: string, version: VersionRecord): Promise<void> {
    const { folder } = this.options;
    await folder.keep(file, version.file);
    if (version.todos !== null) await folder.keep(todosFile(file), todosFile(version.file));
  }

  private record(
    read: ReadSession,
    facts: DocumentFacts,
    file: Written & { file: string; todos: Written | null },
    project: string,
    before: SessionRecord | undefined,
  ): SessionRecord {
    const { session, stamp } = read.listed;
    const same = before?.sha256 === file.sha256 && before.todos?.sha256 === file.todos?.sha256;
    return {
      ...file,
      id: session.id,
      project,
      title: facts.title,
      directory: facts.directory,
      parent: facts.parentId,
      generation: facts.generation,
      createdAt: facts.createdAt,
      updatedAt: facts.updatedAt,
      messages: facts.messages,
      machine: this.options.machine.id,
      savedAt: same ? before.savedAt : new Date().toISOString(),
      stamp,
      readAt: read.readAt,
      settled: isSettled(Math.max(facts.updatedAt, session.updatedAt), read.readAt),
      older: [],
      deletedAt: null,
    };
  }

  /** What is in place now, whoever put it there; null when it is nothing, or nothing whole. */
  private async look(file: string, before: SessionRecord | undefined): Promise<Found | null> {
    const { folder, machine } = this.options;
    const bytes = await folder.read(file);
    const document = bytes && parseDocument(bytes);
    if (!bytes || !document) return null;
    const sha256 = hashOf(bytes);
    const facts = factsOf(document);
    const project = file.split('/')[1] ?? '';
    const todos = await folder.read(todosFile(file));
    const own = before && [before, ...before.older].find((version) => version.sha256 === sha256);
    const writer = own?.machine ?? (await this.writers()).get(sha256);
    // Nobody wrote this, and it is no newer than what was written here: it was damaged since, and is no version to be kept.
    if (before && writer === undefined && facts.updatedAt <= before.updatedAt) return null;
    return {
      version: {
        file: versionFile(project, facts.id, facts.updatedAt, sha256),
        size: bytes.length,
        sha256,
        savedAt: own?.savedAt ?? new Date(facts.updatedAt).toISOString(),
        updatedAt: facts.updatedAt,
        messages: facts.messages,
        machine: writer ?? (before ? 'unknown' : machine.id),
        todos: todos && { size: todos.length, sha256: hashOf(todos) },
      },
    };
  }

  /** Who wrote what, by content. Asked only for files that are not ours. */
  private async writers(): Promise<Map<string, string>> {
    if (this.others) return this.others;
    const { manifests } = await readManifests(this.options.folder);
    const others = manifests.filter(({ machine }) => machine.id !== this.options.machine.id);
    const all = others.flatMap(({ machine, sessions }) =>
      Object.values(sessions).flatMap((one) => [one, ...one.older].map(({ sha256 }) => [sha256, machine.id] as const)),
    );
    return (this.others = new Map(all));
  }

  /** The older versions of a record: what it replaces first. Whatever lies elsewhere is brought there, and cleared away afterwards. */
  private async olderVersions(
    record: SessionRecord,
    before: SessionRecord | undefined,
    replaced: Found | null,
  ): Promise<VersionRecord[]> {
    const { folder, manifest, machine } = this.options;
    const older: VersionRecord[] = replaced ? [replaced.version] : [];
    if (before && before.sha256 !== record.sha256 && before.sha256 !== replaced?.version.sha256) {
      const file = versionFile(before.project, before.id, before.updatedAt, before.sha256);
      // Another machine that wrote over it has kept it.
      if ((await folder.size(file)) !== null) older.push(versionOf(before, file, machine.id));
      else if (before.file !== record.file && (await this.isIntact(before))) {
        const version = versionOf(before, file, machine.id);
        await this.keep(before.file, version);
        older.push(version);
      }
    }
    // The project's id changed with its first commit, or a deleted session came back.
    const elsewhere = before && before.file !== record.file && !before.file.startsWith(`${folders.versions}/`);
    if (elsewhere && (await this.isIntact(before))) manifest.discard([before.file]);
    const all = [...older, ...(before?.older ?? [])].filter(({ sha256 }) => sha256 !== record.sha256);
    return all.filter((one, index) => all.findIndex(({ file }) => file === one.file) === index);
  }

  private async isIntact({ file, sha256 }: Pick<SessionRecord, 'file' | 'sha256'>): Promise<boolean> {
    const bytes = await this.options.folder.read(file);
    return bytes !== null && hashOf(bytes) === sha256;
  }

  /** To `deleted/`; where another machine has the session, its file stays. */
  async setAside(record: SessionRecord, isShared: boolean): Promise<void> {
    const { folder, manifest, machine } = this.options;
    const deletedAt = record.deletedAt ?? new Date().toISOString();
    const place = sessionFile(record.project, record.id);
    // What lies there may be another machine's by now: only what this one wrote is moved.
    if (isShared || !(await this.isIntact({ ...record, file: place }))) {
      manifest.set({ ...record, deletedAt, settled: true });
      return;
    }
    const target = deletedFile(record.project, record.id);
    const earlier = await this.look(target, undefined);
    if (earlier && earlier.version.sha256 !== record.sha256) {
      await this.keep(target, earlier.version);
      record = { ...record, older: [...record.older, { ...earlier.version, machine: machine.id }] };
    }
    const moved = { ...record, file: target, deletedAt };
    await manifest.note(moved);
    if ((await folder.size(todosFile(place))) !== null) await folder.move(todosFile(place), todosFile(target));
    await folder.move(place, target);
    manifest.set({ ...moved, settled: true });
  }
}

interface Found {
  /** As it will be called among the older versions. */
  version: VersionRecord;
}

const written = (content: string): Written => ({ size: Buffer.byteLength(content), sha256: hashOf(content) });

/** No file for a session that never had a todo; an empty one when they were all taken away. */
function todosText(todos: Todo[] | null, before: SessionRecord | undefined): string | null {
  if (todos === null || (todos.length === 0 && !before?.todos)) return null;
  return printed(todos);
}

function versionOf(record: SessionRecord, file: string, machine: string): VersionRecord {
  const { size, sha256, savedAt, updatedAt, messages, todos } = record;
  return { file, size, sha256, savedAt, updatedAt, messages, machine, todos };
}
