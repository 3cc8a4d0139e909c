import type { ImportedCheckpoint } from '../core/imported';
import type { CheckpointId } from '../core/model';

/** The programs whose data is read: s1 opencode-checkpoint-plugin, s2 checkpoint-orchestrator, s4 opencode-session-backup, s5 OpenOrca. */
export const sources = ['s1', 's2', 's4', 's5'] as const;
export type Source = (typeof sources)[number];

export const sourceNames: Record<Source, string> = {
  s1: 'opencode-checkpoint-plugin',
  s2: 'checkpoint-orchestrator',
  s4: 'opencode-session-backup',
  s5: 'OpenOrca',
};

/** What each of them kept, as people are told. */
export const sourceThings: Record<Source, string> = {
  s1: 'checkpoint',
  s2: 'task state',
  s4: 'session',
  s5: 'checkpoint',
};

/** Something of the old data that was left out, and why that is right. */
export interface Skipped {
  item: string;
  reason: string;
}

/** Something of the old data that could not be read, or not wholly. */
export interface ImportProblem {
  item: string;
  message: string;
}

/** What is in a source, before anything is written. */
export interface Found {
  items: ImportedCheckpoint[];
  skipped: Skipped[];
  problems: ImportProblem[];
}

export interface ImportedItem {
  /** Of a checkpoint, or of a session for s4. */
  id: CheckpointId;
  title: string;
  createdAt: string;
}

export interface ImportReport {
  from: Source;
  path: string;
  dryRun: boolean;
  imported: ImportedItem[];
  skipped: Skipped[];
  problems: ImportProblem[];
}

export const nothingFound = (): Found => ({ items: [], skipped: [], problems: [] });

export const alreadyHere = 'is here already';
