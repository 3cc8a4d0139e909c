import type { Checkpoint, GitFacet, SessionAnchor, TaskState } from './model';
import type { AdoptedFiles, GivenFile } from './ports';
import { pathsKept } from './record';
import { titleOf } from './titles';
import { importedId } from './ulid';

/** What another program kept of one moment. */
export interface ImportedCheckpoint {
  /** Names it among everything that was ever imported: the same one gets the same id, on every machine. */
  key: string;
  /** When the other program made it, in milliseconds. */
  madeAt: number;
  name: string | null;
  /** For people, where there is no name. */
  title?: string;
  description?: string | null;
  session?: SessionAnchor | null;
  task?: TaskState | null;
  git?: GitFacet | null;
  metadata: Record<string, unknown>;
  /** What it kept of files; none: it has no files facet. */
  files?: readonly GivenFile[];
}

export function idOf({ key, madeAt }: Pick<ImportedCheckpoint, 'key' | 'madeAt'>, now: number): string {
  // A clock that was wrong must not put it after everything that is yet to come.
  return importedId(key, Math.min(madeAt, now));
}

export function importRecord(given: Omit<ImportedCheckpoint, 'files'>, files: AdoptedFiles, now: number): Checkpoint {
  const { name, task = null } = given;
  return {
    id: idOf(given, now),
    name,
    title: titleOf({ name: name ?? given.title, trigger: 'import', task }),
    description: given.description || null,
    createdAt: new Date(given.madeAt).toISOString(),
    trigger: 'import',
    pinned: false,
    session: given.session ?? null,
    turn: null,
    files: {
      tree: files.tree,
      commit: '',
      lane: 'scan',
      added: files.paths.length,
      modified: 0,
      deleted: 0,
      paths: files.paths.slice(0, pathsKept),
      skipped: files.skipped,
      partial: [],
      emptyDirs: [],
      only: files.paths,
    },
    git: given.git ?? null,
    task,
    cause: null,
    restore: null,
    origin: null,
    metadata: given.metadata,
  };
}
