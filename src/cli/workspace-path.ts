import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { CheckpointsError } from '../core/errors';
import { inside, onDisk, realParent } from '../git/inner-path';

type Knows = (relative: string) => Promise<boolean>;

/** As JSON writes a byte that is not UTF-8, which no argument can hold: `\\udcff`. */
const escapedByte = /\\udc([89a-f][0-9a-f])/gi;

/**
 * A path as a person wrote it, relative to the workspace root with forward slashes; '' is the root itself. It is read from `cwd`, as
 * shells complete it; one that means nothing there may be as this program prints it, relative to the root.
 */
export async function workspacePath(
  root: string,
  cwd: string,
  given: string,
  knows: Knows,
  options: { disk?: boolean } = {},
): Promise<string> {
  if (given === '') throw new CheckpointsError('invalid-argument', 'A path cannot be empty');
  const known = async (relative: string): Promise<boolean> =>
    ((options.disk ?? true) && (await onDisk(root, relative))) || knows(relative);
  const found = await readPath(root, cwd, given, knows, known);
  const meant = given.replace(escapedByte, (_, byte: string) => String.fromCharCode(0xdc00 + parseInt(byte, 16)));
  // A name may really hold a backslash and these letters: that one counts first.
  if (meant === given || (await known(found))) return found;
  return readPath(root, cwd, meant, knows, known);
}

async function readPath(root: string, cwd: string, given: string, inTree: Knows, known: Knows): Promise<string> {
  const absolute = path.resolve(await realpath(cwd), given);
  const asWritten = inside(root, absolute);
  const real = inside(root, await realParent(absolute));
  // Below a link to a folder nothing is captured: what is there is meant where it lies. A checkpoint may have a folder in the link's place.
  const beyondLink = asWritten !== null && real !== null && real !== asWritten && !(await inTree(asWritten));
  const fromHere = beyondLink ? real : (asWritten ?? real);
  const fromRoot = path.isAbsolute(given) ? null : inside(root, path.resolve(root, given));
  if (fromHere !== null && (fromRoot === null || fromRoot === fromHere || (await known(fromHere)))) return fromHere;
  if (fromRoot !== null && (fromHere === null || (await known(fromRoot)))) return fromRoot;
  if (fromHere !== null) return fromHere;
  throw new CheckpointsError('invalid-argument', `${given} lies outside the workspace ${root}`);
}

/** For `--path`, given any number of times. None, or the root among them, means all. */
export async function workspacePaths(
  root: string,
  cwd: string,
  given: string[] | undefined,
  knows: Knows,
): Promise<string[] | undefined> {
  if (given === undefined || given.length === 0) return undefined;
  const found: string[] = [];
  for (const one of given) found.push(await workspacePath(root, cwd, one, knows));
  return found.includes('') ? undefined : [...new Set(found)];
}
