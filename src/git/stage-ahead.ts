import { renameSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExpectedTarget, FileChange } from '../core/ports';
import { bulk } from './bulk-reader';
import type { HashName } from './pack-writer';
import { fewFiles, makeStage, numbered, stagedAt, stageFolder, useMany, writesOf, type StageParts } from './stage';
import type { Trees } from './trees';
import { WorkingFiles } from './working-files';

/** More would take room on the disk that the safety checkpoint may need, should none of it be wanted in the end. */
const mostFiles = 20_000;

export interface StageAheadParts extends StageParts {
  trees: Trees;
  algorithm: HashName;
}

interface Begun {
  stage: string;
  files: WorkingFiles;
  /** By path and version: the number under which it lies in the stage. */
  staged: Map<string, number>;
  work: Promise<void>;
  stop: boolean;
}

/** A stage that has some of the new contents already. */
export interface StartedStage {
  stage: string;
  /** Knows what permissions staged files get. */
  files: WorkingFiles;
  /** The numbers of the changes whose content is there. */
  has: ReadonlySet<number>;
}

/**
 * What a restore will need if nothing else has changed since the last capture, staged while git looks at the files for the safety checkpoint:
 * both take long, and neither needs the other. Beside the store only, and nothing is trusted: what is put in place is read back there.
 * A death leaves a folder that the next clean-up sweeps, as it does with one that was not yet removed after a restore.
 */
export class StageAhead {
  private begun: Begun | null = null;

  constructor(private readonly parts: StageAheadParts) {}

  begin(now: string, target: ExpectedTarget): void {
    if (this.begun || !target.isOurs) return;
    const { path: stage, beside } = stageFolder(this.parts);
    if (!beside) return;
    const files = new WorkingFiles(this.parts.root, this.parts.algorithm);
    const begun: Begun = { stage, files, staged: new Map(), work: Promise.resolve(), stop: false };
    this.begun = begun;
    begun.work = this.run(begun, now, target).catch(async (error: unknown) => {
      await removed(stage); // a full disk: the safety checkpoint needs the room more
      throw error;
    });
    begun.work.catch(() => undefined); // heard by whoever takes it
  }

  private async run(begun: Begun, now: string, { tree, isWanted }: ExpectedTarget): Promise<void> {
    const { trees, reader } = this.parts;
    const changes = (await trees.diff(now, tree)).filter(({ path }) => isWanted(path));
    const writes = writesOf(numbered(changes));
    if (begun.stop || writes.length < bulk || writes.length > mostFiles) return;
    makeStage(begun.stage, changes.length);
    // By a git of their own, which a damaged object may end: what is missing then is asked for again, and told, when it is staged.
    await useMany(reader, writes, (i, after, data) => {
      if (begun.stop) throw new Error('not wanted any more');
      begun.files.stage(stagedAt(begun.stage, i), after.mode, data, false);
      begun.staged.set(keyOf(changes[i]!), i);
    });
  }

  /** null: there is nothing of use; that includes so few changes that each is to be synced. What is not wanted lies in the stage under other names. */
  async take(changes: readonly FileChange[]): Promise<StartedStage | null> {
    const { begun } = this;
    const whole = await begun?.work.then(
      () => true,
      () => false,
    );
    if (!begun || !whole || begun.staged.size === 0 || writesOf(numbered(changes)).length <= fewFiles) {
      await this.drop();
      return null;
    }
    this.begun = null;
    const { stage, files, staged } = begun;
    makeStage(stage, changes.length);
    const has = new Set<number>();
    const moves: Array<{ from: number; to: number }> = [];
    for (const { change, i } of numbered(changes)) {
      const from = change.after ? staged.get(keyOf(change)) : undefined;
      if (from === undefined) continue;
      has.add(i);
      staged.delete(keyOf(change));
      if (from !== i) moves.push({ from, to: i });
    }
    // All numbers are free before any is taken.
    const between = (i: number): string => join(stage, `ahead-${i}`);
    for (const i of [...staged.values(), ...moves.map(({ from }) => from)]) renameSync(stagedAt(stage, i), between(i));
    for (const { from, to } of moves) renameSync(between(from), stagedAt(stage, to));
    return { stage, files, has };
  }

  /** The restore did not come to it, or is over. */
  async drop(): Promise<void> {
    const { begun } = this;
    this.begun = null;
    if (!begun) return;
    begun.stop = true;
    await begun.work.catch(() => undefined);
    await removed(begun.stage);
  }
}

const removed = (stage: string): Promise<void> => rm(stage, { recursive: true, force: true });

const keyOf = ({ path, after }: FileChange): string => `${after?.mode} ${after?.oid} ${path}`;
