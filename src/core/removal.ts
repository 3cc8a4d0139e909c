import { CheckpointsError } from './errors';
import { isScan } from './files-facet';
import type { Checkpoint, CheckpointId, PathReason } from './model';
import type { SnapshotStore } from './ports';

/** Deletes checkpoints. What only a scan knew of the points of the fast lane around it, these keep. */
export async function removeAll(
  store: Pick<SnapshotStore, 'refs' | 'read' | 'update' | 'remove'>,
  ids: readonly CheckpointId[],
): Promise<void> {
  for (const [id, heir] of await heirs(store, new Set(ids)))
    try {
      await store.update(id, (now) => ({ ...now, files: { ...now.files, ...inherited(now, heir) } }));
    } catch (error) {
      // Somebody else has deleted it; or there is no room to write it, which is what deleting is to make.
      if (!CheckpointsError.is(error, 'unknown-reference') && !CheckpointsError.is(error, 'disk-full')) throw error;
    }
  await store.remove([...ids]);
}

interface Heir {
  /** Of the scan after it. */
  uncertain?: string[];
  /** Left out by the scan before it, and so by it. */
  skipped: PathReason[];
}

async function heirs(
  store: Pick<SnapshotStore, 'refs' | 'read'>,
  leaving: ReadonlySet<CheckpointId>,
): Promise<Map<CheckpointId, Heir>> {
  const out = new Map<CheckpointId, Heir>();
  const ids = [...store.refs().keys()].sort();
  const known = new Map<CheckpointId, Checkpoint | null>();
  const read = async (id: CheckpointId): Promise<Checkpoint | null> => {
    if (!known.has(id)) known.set(id, (await store.read([id]))[0] ?? null);
    return known.get(id)!;
  };
  /** The points of the fast lane up to the next scan. */
  const around = async (at: number, step: 1 | -1, tell: (heir: Heir) => void): Promise<void> => {
    for (let i = at + step; i >= 0 && i < ids.length; i += step) {
      const record = await read(ids[i]!);
      if (record && isScan(record)) return;
      if (!record || record.files.lane === 'scan' || leaving.has(record.id)) continue;
      const heir = out.get(record.id) ?? { skipped: [] };
      out.set(record.id, heir);
      tell(heir);
    }
  };
  for (const [at, id] of ids.entries()) {
    const scan = leaving.has(id) ? await read(id) : null;
    if (!scan || !isScan(scan)) continue;
    await around(at, -1, (heir) => (heir.uncertain = scan.files.uncertain ?? []));
    if (scan.files.skipped.length > 0) await around(at, 1, (heir) => heir.skipped.push(...scan.files.skipped));
  }
  return out;
}

function inherited({ files }: Checkpoint, { uncertain, skipped }: Heir): Partial<Checkpoint['files']> {
  const known = new Set(files.skipped.map(({ path }) => path));
  return {
    // The first scan after it knew best; what a later one says is about what came between.
    ...(uncertain && !files.uncertain ? { uncertain } : {}),
    skipped: [...files.skipped, ...skipped.filter(({ path }) => !known.has(path))],
  };
}
