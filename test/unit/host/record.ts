import type { Checkpoint } from '../../../src/core/model';

/** A plain manual checkpoint; tests say what matters to them. */
export const record = (id: string, more: Partial<Checkpoint> = {}): Checkpoint => ({
  id,
  name: null,
  title: `Checkpoint ${id}`,
  description: null,
  createdAt: '2026-01-02T03:04:05.678Z',
  trigger: 'manual',
  pinned: false,
  session: null,
  turn: null,
  git: null,
  task: null,
  cause: null,
  restore: null,
  origin: null,
  metadata: {},
  ...more,
  files: {
    tree: '',
    commit: '',
    lane: 'scan',
    added: 0,
    modified: 0,
    deleted: 0,
    paths: [],
    skipped: [],
    partial: [],
    emptyDirs: [],
    ...more.files,
  },
});
