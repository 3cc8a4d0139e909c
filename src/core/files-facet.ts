import type { Checkpoint } from './model';

type WithFiles = Pick<Checkpoint, 'files'>;

/** The tree is the whole workspace at that moment: what it does not hold was not there. */
export function isWhole({ files }: WithFiles): boolean {
  return files.only === undefined;
}

/** Everything was looked at for it. */
export function isScan(checkpoint: WithFiles): boolean {
  return checkpoint.files.lane === 'scan' && isWhole(checkpoint);
}

/** There is something to compare and to restore. What other programs kept may be a conversation or a task alone. */
export function hasFiles({ files }: WithFiles): boolean {
  return files.only === undefined || files.only.length > 0;
}

/**
 * The paths about which all of these checkpoints have something to say, within the asked ones (files or folders). Undefined: no limit; an empty list:
 * there are none.
 */
export function comparable(checkpoints: readonly WithFiles[], asked: readonly string[] = []): string[] | undefined {
  const limits = checkpoints.flatMap(({ files }) => (files.only === undefined ? [] : [files.only]));
  const [first, ...others] = limits;
  if (first === undefined) return asked.length === 0 ? undefined : [...asked];
  return first.filter(
    (path) =>
      others.every((paths) => paths.includes(path)) && (asked.length === 0 || asked.some((p) => covers(p, path))),
  );
}

function covers(asked: string, path: string): boolean {
  return asked === '' || path === asked || path.startsWith(`${asked}/`);
}
