import { CheckpointsError } from '../core/errors';
import type { CaptureFacts, FileChange } from '../core/ports';
import { pathsKept } from '../core/record';
import type { Base } from './base';
import type { Snapshot } from './snapshots';
import type { Trees } from './trees';

/** What a snapshot says about the workspace, beside the base and the newest checkpoint. */
export async function captureFacts(
  trees: Trees,
  snapshot: Snapshot,
  base: Base | null,
  previous: CaptureFacts['previous'],
): Promise<CaptureFacts> {
  const changed = previous ? await diffOrNull(trees, previous.tree, snapshot.tree) : null;
  let uncertain: string[] = [];
  // Only points of the fast lane since the last scan can be uncertain about anything.
  if (snapshot.lane === 'scan' && base && base.fast > base.scanned) {
    const since = changed && base.tree === previous?.tree ? changed : await diffOrNull(trees, base.tree, snapshot.tree);
    uncertain = (since ?? []).map((c) => c.path).filter((path) => !Object.hasOwn(base.named, path));
  }
  const ids = [base?.newestId, previous?.id].filter((id): id is string => !!id).sort();
  const { tree, lane, skipped, partial, emptyDirs, exclude, git } = snapshot;
  const changes = changed ? summary(changed) : await everything(trees, snapshot);
  return {
    tree,
    lane,
    changes,
    skipped,
    partial,
    emptyDirs,
    exclude: [...exclude],
    uncertain,
    git,
    previous,
    base: base?.tree ?? null,
    calls: base?.calls ?? [],
    newestId: ids.at(-1) ?? null,
  };
}

/** null where the older one is lost: the files are there, and can be kept all the same. */
async function diffOrNull(trees: Trees, older: string, newer: string): Promise<FileChange[] | null> {
  try {
    return await trees.diff(older, newer);
  } catch (error) {
    if (CheckpointsError.is(error, 'store-broken')) return null;
    throw error;
  }
}

/** The first checkpoint: all files are new. */
async function everything(trees: Trees, { tree, files }: Snapshot): Promise<CaptureFacts['changes']> {
  const added = files ?? (await trees.count(tree));
  return { added, modified: 0, deleted: 0, paths: await trees.first(tree, pathsKept) };
}

function summary(changed: FileChange[]): CaptureFacts['changes'] {
  const added = changed.filter((change) => change.before === null).length;
  const deleted = changed.filter((change) => change.after === null).length;
  const paths = changed.slice(0, pathsKept).map((change) => change.path);
  return { added, modified: changed.length - added - deleted, deleted, paths };
}
