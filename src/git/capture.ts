import { readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, relative, resolve, sep } from 'node:path';
import { CheckpointsError } from '../core/errors';
import type { PathReason } from '../core/model';
import type { Exclusions } from './exclusions';
import { FileReader, type Found } from './file-reader';
import { ignoresCase, ListedNames } from './names';
import { hashObject, type PackWriter } from './pack-writer';
import type { Leaf } from './tree-format';

export interface ReadResult {
  /** Paths as they are on disk; null: not there. */
  leaves: Map<string, Leaf | null>;
  skipped: PathReason[];
  partial: PathReason[];
  bytes: number;
}

/** Reads paths into the store, a slice of time at once: the editor's or agent's loop must not stand still. */
export async function readPaths(
  root: string,
  paths: Iterable<string>,
  exclusions: Exclusions,
  maxFileSize: number,
  writer: PackWriter,
  options: {
    signal?: AbortSignal;
    onFound?: (path: string, found: Found, oid: string) => void;
    /** What the store surely has at these paths: the same content is not written again. */
    known?: Map<string, Leaf | null>;
    /** Where a file answers to other names as well: whether a path is its name. */
    isName?: (path: string) => boolean;
  } = {},
): Promise<ReadResult> {
  const reader = new FileReader(root, maxFileSize);
  const result: ReadResult = { leaves: new Map(), skipped: [], partial: [], bytes: 0 };
  let sliceEnds = Date.now() + 15;
  for (const path of paths) {
    const out = exclusions.why(path);
    if (out) {
      // It is out, even where an older snapshot or the user's repository had it.
      result.leaves.set(path, null);
      if (out === 'excluded') result.skipped.push({ path, reason: 'excluded' });
      continue;
    }
    const seen = reader.read(path);
    const found: Found = seen.kind === 'missing' || options.isName?.(path) !== false ? seen : { kind: 'missing' };
    switch (found.kind) {
      case 'file':
      case 'link': {
        const oid = hashObject('blob', found.data, writer.algorithm);
        if (options.known?.get(path)?.oid !== oid) writer.add('blob', found.data, oid);
        result.leaves.set(path, { mode: found.mode, oid });
        result.bytes += found.data.length;
        options.onFound?.(path, found, oid);
        break;
      }
      case 'too-large':
        result.leaves.set(path, null);
        result.skipped.push({ path, reason: 'too-large', size: found.size });
        break;
      case 'unreadable':
        // The tree keeps what it had; the record says that it is not what is on disk.
        result.partial.push({ path, reason: found.reason });
        break;
      default:
        result.leaves.set(path, null);
    }
    if (writer.full) await writer.flush();
    if (Date.now() > sliceEnds) {
      if (options.signal?.aborted) throw new CheckpointsError('cancelled', 'Cancelled.');
      await new Promise((next) => setImmediate(next));
      sliceEnds = Date.now() + 15;
    }
  }
  return result;
}

export interface NamedPaths {
  inside: string[];
  outside: PathReason[];
}

/** A tool's paths, absolute or relative, as paths of this workspace. Who writes to a link writes to what it leads to: both are named. */
export function normalisePaths(root: string, paths: string[]): NamedPaths {
  const listed = ignoresCase(root) ? new ListedNames(root) : null;
  const inside = new Set<string>();
  const outside: PathReason[] = [];
  for (const path of paths) {
    const real = resolveParents(resolve(root, path));
    for (const [index, full] of [real, ...targetsOf(real)].entries()) {
      const below = relative(root, full);
      // A target elsewhere is named as such.
      const named = index === 0 ? path : full;
      if (below === '' || below === '..' || below.startsWith(`..${sep}`) || isAbsolute(below)) {
        outside.push({ path: named, reason: 'outside the workspace' });
        continue;
      }
      const plain = sep === '/' ? below : below.split(sep).join('/');
      if (plain.split('/').some((part) => part.toLowerCase() === '.git'))
        outside.push({ path: named, reason: 'inside a git folder' });
      else inside.add(listed ? listed.nameOf(plain) : plain);
    }
  }
  return { inside: [...inside], outside };
}

/** Links may lead to links; more than this is a circle. */
const linksFollowed = 40;

/** Where a link leads, step by step; the last one need not be there yet. Nothing for what is no link. */
function targetsOf(full: string): string[] {
  const targets: string[] = [];
  for (let at = full; targets.length < linksFollowed; targets.push(at)) {
    try {
      at = resolveParents(resolve(dirname(at), readlinkSync(at)));
    } catch {
      // No link, or nothing there.
      break;
    }
  }
  return targets;
}

/** Follows links in the folders on the way, not the last component: it may be a link that is a file of ours. */
function resolveParents(full: string): string {
  const name = full.slice(full.lastIndexOf(sep) + 1);
  const missing: string[] = [];
  for (let folder = dirname(full); ; folder = dirname(folder)) {
    try {
      return resolve(realpathSync.native(folder), ...missing, name);
    } catch {
      // It does not exist yet: look at the folder above.
      if (dirname(folder) === folder) return full;
      missing.unshift(basename(folder));
    }
  }
}
