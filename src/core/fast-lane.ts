import { isScan, isWhole } from './files-facet';
import type { Checkpoint, PathReason } from './model';
import type { SnapshotStore } from './ports';
import { uncertainKept } from './record';

/*
 * A point of the fast lane looked only at what was named. The rest of what is to be known about it, the scans around it say; `removal.ts` lets it
 * inherit that when they are deleted.
 */

/**
 * What the scan after a point of the fast lane found changed though nobody had named it: at that point it is not known. Null: there was no
 * scan since. Where that scan was deleted, the point itself has it.
 */
export async function uncertainAt(
  store: Pick<SnapshotStore, 'siblings' | 'read' | 'diff'>,
  { id, files, cause }: Checkpoint,
): Promise<string[] | null> {
  if (files.lane === 'scan') return [];
  if (files.uncertain) return files.uncertain;
  const named = new Set(cause?.paths);
  for (const later of store.siblings(id).filter((other) => other > id)) {
    const [record] = await store.read([later]);
    if (!record || !isScan(record)) record?.cause?.paths.forEach((path) => named.add(path));
    else if ((record.files.uncertain?.length ?? 0) < uncertainKept) return record.files.uncertain ?? [];
    // The record could not hold them all: then it is whatever came to be different and nobody named.
    else return (await store.diff(files.tree, record.files.tree)).map(({ path }) => path).filter((p) => !named.has(p));
  }
  return null;
}

/** Left out then: by the point itself, and by the scan before it. */
export async function skippedAt(
  store: Pick<SnapshotStore, 'siblings' | 'read'>,
  { id, files }: Checkpoint,
): Promise<PathReason[]> {
  const out = [...files.skipped];
  if (files.lane === 'scan') return out;
  const earlier = store.siblings(id).filter((other) => other < id);
  for (const before of earlier.reverse()) {
    const [record] = await store.read([before]);
    if (!record || !isWhole(record)) continue;
    out.push(...record.files.skipped);
    if (record.files.lane === 'scan') break;
  }
  return out;
}
