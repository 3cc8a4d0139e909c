import type { Generation, SessionExport, Todo } from '../core/sessions';
import type { BackupVersion } from './api';
import { factsOf, parseDocument, parseTodos, type DocumentFacts } from './document';
import { hashOf, type BackupFolder } from './folder';
import { folders, isSessionId, isTodosFile, todosFile } from './layout';
import { LegacyBackup } from './legacy';
import { readManifests, type ManifestContent, type SessionRecord, type VersionRecord } from './manifest';

export interface CatalogSession {
  id: string;
  title: string | null;
  projectId: string;
  directory: string;
  parentId: string | null;
  generation: Generation;
  deleted: boolean;
  legacy: boolean;
  /** Of the server's list when this machine saved it; null for what others saved. */
  stamps: Map<string, string>;
  /** Newest first. */
  versions: BackupVersion[];
}

export interface LoadedVersion {
  document: SessionExport;
  todos: Todo[] | null;
  sha256: string;
}

export type Damage = 'missing' | 'truncated' | 'changed' | 'unreadable';

/** What is in a backup: what the machines' manifests say, and what lies there without being in any of them. */
export class Catalog {
  readonly sessions = new Map<string, CatalogSession>();
  readonly unreadable: Array<{ file: string; message: string }> = [];
  readonly manifests: ManifestContent[] = [];
  private readonly known = new Map<string, Set<string>>();
  /** Noted in a journal, and perhaps not done. */
  private readonly intended = new Set<string>();
  private readonly sizes = new Map<string, number>();
  private present = new Set<string>();
  private legacy: LegacyBackup | null = null;

  private constructor(readonly folder: BackupFolder) {}

  static async open(folder: BackupFolder): Promise<Catalog> {
    const catalog = new Catalog(folder);
    const { manifests, damaged } = await readManifests(folder);
    catalog.manifests.push(...manifests);
    for (const file of damaged) catalog.unreadable.push({ file, message: 'The manifest is damaged' });
    await catalog.findFiles();
    for (const manifest of manifests)
      for (const record of Object.values(manifest.sessions)) catalog.addRecord(record, manifest);
    await catalog.addUnrecorded();
    await catalog.addLegacy();
    for (const session of catalog.sessions.values()) catalog.order(session);
    return catalog;
  }

  /** Every file that a manifest names, once. */
  get files(): string[] {
    return [...this.known.keys()];
  }

  /** Whether a file that is not there should be: versions are cleared away by the machine that made them. */
  isMissed(file: string): boolean {
    if (this.intended.has(file)) return false;
    return this.manifests.some(({ machine, sessions }) =>
      Object.values(sessions).some((record) =>
        [record, ...record.older].some(
          (one) => one.machine === machine.id && [one.file, todosFile(one.file)].includes(file),
        ),
      ),
    );
  }

  async load(session: CatalogSession, version: BackupVersion): Promise<LoadedVersion | Damage> {
    if (session.legacy && this.legacy) return this.legacy.load(session.id);
    const bytes = await this.folder.read(version.file);
    const damage = this.inspect(version.file, bytes, version.updatedAt, session.id);
    const document = bytes && parseDocument(bytes);
    if (damage !== null || !bytes || !document) return damage ?? 'unreadable';
    const todos = await this.folder.read(todosFile(version.file));
    return { document, todos: todos && parseTodos(todos), sha256: hashOf(bytes) };
  }

  /** What is wrong with a session's file; null when nothing is. */
  inspect(file: string, bytes: Buffer | null, updatedAt: number, id: string): Damage | null {
    if (bytes === null) return 'missing';
    const expected = this.known.get(file);
    if (expected?.has(hashOf(bytes))) return null;
    const document = parseDocument(bytes);
    if (document?.info.id !== id)
      return expected === undefined
        ? 'unreadable'
        : bytes.length < (this.sizes.get(file) ?? 0)
          ? 'truncated'
          : 'changed';
    // Put there by a machine whose manifest has not arrived yet.
    return expected === undefined || factsOf(document).updatedAt > updatedAt ? null : 'changed';
  }

  inspectTodos(file: string, bytes: Buffer | null): Damage | null {
    if (bytes === null) return 'missing';
    if (this.known.get(file)?.has(hashOf(bytes))) return null;
    return parseTodos(bytes) === null ? 'unreadable' : 'changed';
  }

  private async findFiles(): Promise<void> {
    for (const top of [folders.sessions, folders.deleted])
      for (const project of await this.folder.list(top))
        for (const { name, isFolder } of project.isFolder ? await this.folder.list(`${top}/${project.name}`) : [])
          if (!isFolder && name.endsWith('.json') && !isTodosFile(name))
            this.present.add(`${top}/${project.name}/${name}`);
  }

  private addRecord(record: SessionRecord, { machine }: ManifestContent): void {
    this.expect(record);
    if (!record.settled) {
      // What it was to replace may still be in place.
      for (const older of record.older) this.expect({ ...older, file: record.file });
      this.intended.add(record.file).add(todosFile(record.file));
    }
    record.older.forEach((older) => this.expect(older));
    const session = this.session({ ...record, projectId: record.project, parentId: record.parent }, record.updatedAt);
    session.stamps.set(machine.id, record.stamp);
    const inVersions = record.file.startsWith(`${folders.versions}/`);
    if (inVersions || this.present.has(record.file)) addVersion(session, record);
    for (const older of record.older) addVersion(session, older);
  }

  private expect({ file, sha256, size, todos }: VersionRecord): void {
    this.known.set(file, (this.known.get(file) ?? new Set()).add(sha256));
    this.sizes.set(file, size);
    if (todos) this.known.set(todosFile(file), (this.known.get(todosFile(file)) ?? new Set()).add(todos.sha256));
  }

  /** Copies that a cloud client made of conflicting files, sessions of a machine whose manifest is lost. */
  private async addUnrecorded(): Promise<void> {
    for (const file of this.present) {
      if (this.known.has(file)) continue;
      const bytes = await this.folder.read(file);
      const document = bytes && parseDocument(bytes);
      if (!bytes || !document || !isSessionId(document.info.id)) {
        this.unreadable.push({ file, message: 'It is not an exported session' });
        continue;
      }
      const facts = factsOf(document);
      addVersion(this.session({ ...facts, projectId: facts.projectId ?? 'global' }, facts.updatedAt), {
        file,
        savedAt: new Date(facts.updatedAt).toISOString(),
        updatedAt: facts.updatedAt,
        messages: facts.messages,
        size: bytes.length,
        machine: null,
      });
    }
  }

  private async addLegacy(): Promise<void> {
    this.legacy = await LegacyBackup.find(this.folder.path);
    const damaged = (file: string): void => void this.unreadable.push({ file, message: 'It is not a session' });
    for (const facts of (await this.legacy?.list(damaged)) ?? []) {
      if (this.sessions.has(facts.id)) continue;
      const session = this.session({ ...facts, projectId: facts.projectId ?? 'global' }, facts.updatedAt);
      session.legacy = true;
      const { file, updatedAt, messages, size } = facts;
      addVersion(session, {
        file,
        savedAt: new Date(updatedAt).toISOString(),
        updatedAt,
        messages,
        size,
        machine: null,
      });
    }
  }

  private session(
    facts: Omit<DocumentFacts, 'projectId' | 'createdAt' | 'updatedAt' | 'messages'> & { projectId: string },
    updatedAt: number,
  ): CatalogSession {
    const found = this.sessions.get(facts.id);
    if (found && found.versions.some((version) => version.updatedAt >= updatedAt)) return found;
    const { id, title, projectId, directory, parentId, generation } = facts;
    const session: CatalogSession = {
      ...{ id, title, projectId, directory, parentId, generation },
      deleted: false,
      legacy: false,
      stamps: found?.stamps ?? new Map<string, string>(),
      versions: found?.versions ?? [],
    };
    this.sessions.set(facts.id, session);
    return session;
  }

  private order(session: CatalogSession): void {
    const place = (file: string): number => (file.startsWith(`${folders.sessions}/`) ? 0 : 1);
    session.versions.sort((a, b) => b.updatedAt - a.updatedAt || place(a.file) - place(b.file));
    const tops = session.versions.map(({ file }) => file.split('/')[0]);
    session.deleted = tops.includes(folders.deleted) && !tops.includes(folders.sessions);
  }
}

type RawVersion = Omit<VersionRecord, 'sha256' | 'todos' | 'machine'> & { machine: string | null };

function addVersion(session: CatalogSession, { file, savedAt, updatedAt, messages, size, machine }: RawVersion): void {
  const version: BackupVersion = { file, savedAt, updatedAt, messages, bytes: size, machine };
  const same = session.versions.findIndex((one) => one.file === file);
  if (same < 0) session.versions.push(version);
  // Two machines name the same file: the newer one is what lies there.
  else if ((session.versions[same]?.updatedAt ?? 0) < updatedAt) session.versions[same] = version;
}
