import { CheckpointsError } from './errors';
import type { RestorePlan } from './model';
import type { FileChange, FileVersion } from './ports';

/** Paths that somebody was shown and agreed to have restored, each with what it held then; undefined: whatever it holds. */
export type Agreed = ReadonlyMap<string, string | undefined>;

/**
 * What each path held when a plan was made. Beside the plan and not in it: to other programs a plan is a document, and what it was made of is nothing
 * to them. A copy of a plan knows only its paths.
 */
const held = new WeakMap<RestorePlan, Agreed>();

/** `changes`: all that differs, also what the plan leaves as it is. */
export function rememberHeld(plan: RestorePlan, changes: readonly FileChange[]): RestorePlan {
  held.set(plan, new Map(changes.map(({ path, before }) => [path, keyOf(before)])));
  return plan;
}

/** What a plan would touch; of one that was ticked file by file, what is ticked. */
export function agreedTo(plan: RestorePlan, ticked?: readonly string[]): Agreed {
  const acts = plan.entries.filter(({ action }) => action === 'write' || action === 'delete').map(({ path }) => path);
  return new Map((ticked ?? acts).map((path) => [path, held.get(plan)?.get(path)]));
}

/** Throws `needs-confirmation` for what nobody agreed to; its details have the paths, and what it would be to agree to them as well. */
export function refuseNotAgreed(agreed: Agreed | undefined, changes: readonly FileChange[]): void {
  if (agreed === undefined) return;
  const others = changes.filter(
    ({ path, before }) => !agreed.has(path) || (agreed.get(path) ?? keyOf(before)) !== keyOf(before),
  );
  if (others.length === 0) return;
  const paths = others.map(({ path }) => path);
  const deleted = others.filter(({ after }) => after === null).map(({ path }) => path);
  const all = new Map([...agreed, ...others.map(({ path, before }) => [path, keyOf(before)] as const)]);
  const named = paths.length > 5 ? [...paths.slice(0, 5), `${paths.length - 5} more`] : paths;
  throw new CheckpointsError(
    'needs-confirmation',
    `Changed since it was shown what would be restored: ${named.join(', ')}. Nothing was restored.`,
    { details: { paths, deleted, agreed: all } },
  );
}

function keyOf(version: FileVersion | null): string {
  return version === null ? 'nothing' : `${version.mode} ${version.oid}`;
}
