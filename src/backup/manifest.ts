import { createHash } from 'node:crypto';
import type { Generation } from '../core/sessions';
import type { BackupFolder, Written } from './folder';
import { folders, isSessionId, journalFile, manifestFile, todosFile } from './layout';
import type { Machine } from './machine';

/** One version of one session, as it was written. */
export interface VersionRecord extends Written {
  file: string;
  savedAt: string;
  updatedAt: number;
  messages: number;
  /** Who saved it. */
  machine: string;
  todos: Written | null;
}

/** What one machine has saved of one session. */
export interface SessionRecord extends VersionRecord {
  id: string;
  project: string;
  title: string | null;
  directory: string;
  parent: string | null;
  generation: Generation;
  createdAt: number;
  /** What the server's list said; an unchanged session is not read again. */
  stamp: string;
  /** Milliseconds: when it was read. */
  readAt: number;
  /** It was at rest when it was read, and the file was seen to be in place. */
  settled: boolean;
  /** Newest first. */
  older: VersionRecord[];
  /** When it was seen to be deleted. */
  deletedAt: string | null;
}

export interface ManifestContent {
  format: 1;
  machine: Machine;
  savedAt: string;
  sessions: Record<string, SessionRecord>;
  /** Files that are to go; they are only removed once no manifest names them any more. */
  garbage: string[];
}

/**
 * Each machine writes a manifest of its own, so that machines which share a folder never write over each other's. What a run is about to put in place is
 * first noted in a journal beside it: whatever moment the process dies at, every file is one that the manifest or the journal knows.
 */
export class Manifest {
  private constructor(
    private readonly folder: BackupFolder,
    private readonly content: ManifestContent,
    private journaled: boolean,
    private changed = false,
  ) {}

  static async open(folder: BackupFolder, machine: Machine): Promise<Manifest> {
    const read = await readManifest(folder, machine.id);
    if (read === 'damaged') {
      // Everything is read and compared once more; the damaged file stays for whoever wants to look.
      await folder.move(manifestFile(machine.id), `${manifestFile(machine.id)}.corrupt-${Date.now()}`);
      return new Manifest(folder, empty(machine), false);
    }
    if (read === null) return new Manifest(folder, empty(machine), false);
    return new Manifest(folder, { ...read.content, machine }, read.journaled);
  }

  get sessions(): ReadonlyMap<string, SessionRecord> {
    return new Map(Object.entries(this.content.sessions));
  }

  get(id: string): SessionRecord | undefined {
    return Object.hasOwn(this.content.sessions, id) ? this.content.sessions[id] : undefined;
  }

  /** Something is to be saved, or to be cleared away. */
  get dirty(): boolean {
    return this.changed || this.journaled || this.content.garbage.length > 0;
  }

  /** What is about to be done, on disk before it is. Until `set` says that it was done, the next run looks again. */
  async note(record: SessionRecord): Promise<void> {
    const intended = { ...record, settled: false };
    this.journaled = true;
    await this.folder.append(journalFile(this.content.machine.id), sealed(intended));
    this.content.sessions[record.id] = intended;
  }

  /** Only in memory, until `save`. */
  set(record: SessionRecord): void {
    this.changed = true;
    this.content.sessions[record.id] = record;
  }

  discard(files: readonly string[]): void {
    this.content.garbage.push(...files);
  }

  async save(): Promise<void> {
    const { machine } = this.content;
    // A version that came back has the name it had before.
    const named = new Set(this.records().map(({ file }) => file));
    this.content.garbage = this.content.garbage.filter((file) => !named.has(file));
    this.content.savedAt = new Date().toISOString();
    await this.folder.write(manifestFile(machine.id), `${JSON.stringify(this.content)}\n`);
    if (this.journaled) await this.folder.remove(journalFile(machine.id));
    this.journaled = false;
    this.changed = false;
    if (this.content.garbage.length === 0) return;
    for (const file of this.content.garbage) {
      await this.folder.remove(file);
      await this.folder.remove(todosFile(file));
    }
    // Named in the file until the next save: removing what is gone does no harm.
    this.content.garbage = [];
  }

  private records(): VersionRecord[] {
    return Object.values(this.content.sessions).flatMap((session) => [session, ...session.older]);
  }
}

const empty = (machine: Machine): ManifestContent => ({
  format: 1,
  machine,
  savedAt: new Date().toISOString(),
  sessions: {},
  garbage: [],
});

/** A line proves itself: a half-written one at the end is what a killed process leaves. */
function sealed(record: SessionRecord): string {
  const text = JSON.stringify(record);
  return `${checksum(text)} ${text}\n`;
}

const checksum = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);

interface ReadManifest {
  content: ManifestContent;
  journaled: boolean;
}

async function readManifest(folder: BackupFolder, machine: string): Promise<ReadManifest | 'damaged' | null> {
  const bytes = await folder.read(manifestFile(machine));
  const journal = await folder.read(journalFile(machine));
  if (bytes === null && journal === null) return null;
  const content = bytes === null ? empty({ id: machine, name: machine }) : parse(bytes);
  if (content === null) return 'damaged';
  for (const line of journal?.toString('utf8').split('\n') ?? []) {
    const text = line.slice(17);
    if (text === '' || line.slice(0, 16) !== checksum(text)) continue;
    const record = JSON.parse(text) as SessionRecord;
    // Noted, but perhaps not done: the next run looks again.
    if (isSessionId(record.id)) content.sessions[record.id] = { ...record, settled: false };
  }
  return { content, journaled: journal !== null };
}

function parse(bytes: Buffer): ManifestContent | null {
  try {
    const content = JSON.parse(bytes.toString('utf8')) as Partial<ManifestContent>;
    if (content.format !== 1 || typeof content.sessions !== 'object' || content.sessions === null) return null;
    const sessions = Object.entries(content.sessions)
      .filter(([id, { file }]) => isSessionId(id) && isInside(file))
      .map(([id, record]) => [id, { ...record, older: record.older.filter(({ file }) => isInside(file)) }] as const);
    return {
      format: 1,
      machine: content.machine ?? { id: '', name: '' },
      savedAt: content.savedAt ?? '',
      sessions: Object.fromEntries(sessions),
      garbage: (content.garbage ?? []).filter(isInside),
    };
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return null;
    throw error;
  }
}

/** A manifest comes from a shared folder: it must not name files elsewhere. */
function isInside(file: unknown): boolean {
  if (typeof file !== 'string' || file.includes('\\')) return false;
  const [top, ...rest] = file.split('/');
  const ours: readonly string[] = [folders.sessions, folders.versions, folders.deleted];
  return (
    ours.includes(top ?? '') && rest.length > 0 && !rest.some((part) => part === '' || part === '.' || part === '..')
  );
}

/** Those of all machines. A damaged one is named, and its sessions are found by their files. */
export async function readManifests(
  folder: BackupFolder,
): Promise<{ manifests: ManifestContent[]; damaged: string[] }> {
  const names = await folder.list(folders.manifests);
  const machines = new Set(
    names.map(({ name }) => /^([a-z0-9-]+)\.(json|journal)$/.exec(name)?.[1]).filter((id) => id !== undefined),
  );
  const manifests: ManifestContent[] = [];
  const damaged: string[] = [];
  for (const machine of machines) {
    const read = await readManifest(folder, machine);
    if (read === 'damaged') damaged.push(manifestFile(machine));
    else if (read !== null)
      manifests.push({ ...read.content, machine: { id: machine, name: read.content.machine.name || machine } });
  }
  return { manifests, damaged };
}
