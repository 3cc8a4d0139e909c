import type { Stats } from './api';
import type { Checkpoint } from './model';
import type { SnapshotStore } from './ports';

/** How many checkpoints there are, and what those of each session take by themselves. */
export async function statistics(store: SnapshotStore, all: readonly Checkpoint[]): Promise<Stats> {
  const sizes = store.sizes();
  const groups = new Map<string | null, Checkpoint[]>();
  for (const checkpoint of all) {
    const session = checkpoint.session?.id ?? null;
    groups.set(session, [...(groups.get(session) ?? []), checkpoint]);
  }
  const perSession = await Promise.all(
    [...groups].map(async ([session, own]) => ({
      session,
      title: own.find((c) => c.session?.title)?.session?.title ?? null,
      checkpoints: own.length,
      bytes: await store.ownBytes(
        own.map((c) => c.files.commit),
        all.filter((c) => (c.session?.id ?? null) !== session).map((c) => c.files.commit),
      ),
    })),
  );
  const sessions = [...groups.keys()].filter((session) => session !== null).length;
  return { checkpoints: all.length, sessions, ...sizes, store: store.folder, perSession };
}
