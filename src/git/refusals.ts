import type { FileChange, Refusal } from '../core/ports';
import type { Exclusions } from './exclusions';
import { ignoresCase } from './names';
import { modes } from './tree-format';
import { collisions, impossiblePath, linkLeavesRoot, unsafePath } from './trust';

export interface RefusalParts {
  root: string;
  exclusions: Exclusions;
  content: (version: { mode: number; oid: string }) => Promise<Uint8Array>;
}

const files: readonly number[] = [modes.file, modes.executable, modes.link];

/**
 * Which of these changes are not written, by name and with the reason. Hostile ones no honest workspace has: where there is one, the
 * rest of its tree is not to be trusted either.
 */
export async function refusals(
  parts: RefusalParts,
  changes: readonly FileChange[],
  foreign: boolean,
): Promise<Refusal[]> {
  const out: Refusal[] = [];
  const sameCase = ignoresCase(parts.root);
  const exact = process.platform === 'linux' && !sameCase;
  for (const change of changes) {
    const unsafe = foreign ? unsafePath(change.path) : impossiblePath(change.path, exact);
    if (unsafe) out.push({ path: change.path, reason: unsafe, hostile: foreign && unsafe !== 'not a name here' });
    else if (foreign) out.push(...(await foreignRefusal(parts, change)));
  }
  if (sameCase)
    for (const one of collisions(changes.filter((change) => change.after).map((change) => change.path)))
      out.push({ ...one, hostile: false });
  return out;
}

async function foreignRefusal(parts: RefusalParts, { path, after }: FileChange): Promise<Refusal[]> {
  // What is out here stays as it is, whatever others have in its place.
  const out = parts.exclusions.why(path);
  if (out === 'own') return [{ path, reason: 'belongs to Checkpoints itself', hostile: after !== null }];
  if (out === 'excluded') return [{ path, reason: 'excluded', hostile: false }];
  if (after === null) return [];
  if (!files.includes(after.mode)) return [{ path, reason: 'neither a file nor a link', hostile: true }];
  if (after.mode !== modes.link) return [];
  const target = Buffer.from(await parts.content(after)).toString('utf8');
  return linkLeavesRoot(path, target) ? [{ path, reason: 'a link out of the workspace', hostile: false }] : [];
}
