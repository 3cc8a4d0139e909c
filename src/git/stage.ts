import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { FileChange, FileVersion } from '../core/ports';
import { blobOf, bulk } from './bulk-reader';
import { stagePrefix } from './exclusions';
import { parentOf } from './file-reader';
import { makeFolder } from './folders';
import type { ObjectReader } from './object-reader';

/**
 * So few files are synced one by one and replaced in one step each. More would cost minutes: they are moved aside first, and the
 * volume is synced once, afterwards. The store has every byte anyway.
 */
export const fewFiles = 64;

const readAhead = 48;

/** A change and its number in the journal, by which its files in the stage are named. */
export interface Step {
  change: FileChange;
  i: number;
}

export const numbered = (changes: readonly FileChange[]): Step[] => changes.map((change, i) => ({ change, i }));

/** Told the number, the version and its content. */
type UseContent = (i: number, after: FileVersion, data: Uint8Array) => void;

/** Beside the store where that is the same volume, else in the root. */
export function stageFolder({ root, folder }: { root: string; folder: string }): string {
  const name = randomBytes(6).toString('hex');
  const beside = statSync(folder).dev === statSync(root).dev;
  return beside ? join(folder, `stage-${name}`) : join(root, stagePrefix + name);
}

/** Some file systems take long to find a free place among thousands in one folder. */
const perFolder = 64;
const folderIn = (stage: string, i: number): string => join(stage, String(Math.floor(i / perFolder)));
export const stagedAt = (stage: string, i: number): string => join(folderIn(stage, i), String(i));
export const asideOf = (stage: string, i: number): string => join(folderIn(stage, i), `was-${i}`);

/** In the folder of a path on another volume, under a name that is left out of every checkpoint. One at a time is there. */
export function besideOf(stage: string, path: string): string {
  const parent = parentOf(path);
  const name = stagePrefix + basename(stage).slice(basename(stage).lastIndexOf('-') + 1);
  return parent === '' ? name : `${parent}/${name}`;
}

export function makeStage(stage: string, count: number): void {
  makeFolder(stage, 0o700);
  for (let i = 0; i < count; i += perFolder) makeFolder(folderIn(stage, i));
}

/** The new contents in order; some are read ahead, so that git and the disk work at the same time. */
export async function eachContent(reader: ObjectReader, steps: Step[], use: UseContent): Promise<void> {
  const all = writesOf(steps);
  const writes = all.length < bulk ? all : all.slice(await useMany(reader, all, use));
  const read = (at: number): Promise<Uint8Array[]> => {
    const asked = Promise.all(writes.slice(at, at + readAhead).map(({ after }) => reader.blob(after.oid)));
    asked.catch(() => undefined); // heard when its turn comes
    return asked;
  };
  let next = read(0);
  for (let at = 0; at < writes.length; at += readAhead) {
    const contents = await next;
    next = read(at + readAhead);
    await Promise.resolve(); // the questions are sent before the disk is kept busy
    for (const [n, { i, after }] of writes.slice(at, at + readAhead).entries()) use(i, after, contents[n]!);
  }
}

interface Write {
  i: number;
  after: FileVersion;
}

const writesOf = (steps: readonly Step[]): Write[] =>
  steps.flatMap(({ change: { after }, i }) => (after ? [{ i, after }] : []));

/** How many were used; the rest git could not give together. */
async function useMany(reader: ObjectReader, writes: readonly Write[], use: UseContent): Promise<number> {
  const oids = writes.map(({ after }) => after.oid);
  const { used } = await reader.each(oids, (n, object) => {
    const { i, after } = writes[n]!;
    use(i, after, blobOf(after.oid, object));
  });
  return used;
}
