import { CheckpointsError } from './errors';
import type { Checkpoint, CheckpointId, Trigger } from './model';

/** The part of a checkpoint that a reference can be told by. */
export type Referable = Pick<Checkpoint, 'id' | 'name' | 'title' | 'createdAt' | 'trigger' | 'origin'>;

export interface Candidate {
  id: CheckpointId;
  name: string | null;
  title: string;
  createdAt: string;
}

/** What `latest` counts: what people and agents made, and turns. Not their tool and idle points, safety, task or fetched ones. */
export const latestTriggers: readonly Trigger[] = ['manual', 'agent', 'turn'];

const minPrefix = 6;

export type ParsedReference =
  { kind: 'latest'; back: number } | { kind: 'text'; name: string; idPrefix: string | null; fullId: boolean };

/** `latest` is a word of its own: a checkpoint that somebody named "latest" does not shadow it and is reached by its id. */
export function parseReference(reference: string): ParsedReference {
  const text = reference.normalize('NFC').trim();
  const latest = /^latest(?:~(\d+))?$/.exec(text);
  if (latest) return { kind: 'latest', back: Number(latest[1] ?? 0) };
  const lower = text.toLowerCase();
  const id = /^cp_[0-9a-z]+$/.test(lower) ? lower : null;
  return {
    kind: 'text',
    name: text,
    idPrefix: id !== null && id.length >= 'cp_'.length + minPrefix ? id : null,
    fullId: id !== null && id.length === 'cp_'.length + 26,
  };
}

export function countsAsLatest(checkpoint: Pick<Checkpoint, 'trigger' | 'origin'>): boolean {
  return checkpoint.origin === null && latestTriggers.includes(checkpoint.trigger);
}

/**
 * The checkpoint that a person, an agent or a script names. `checkpoints` is newest first, local and fetched. In this order:
 * `latest`; the full id; the exact name (the newest wins); a unique id prefix. So neither a name can hide an id, nor a prefix a name.
 */
export function resolveReference<T extends Referable>(reference: string, checkpoints: readonly T[]): T {
  const parsed = parseReference(reference);
  if (parsed.kind === 'latest') return resolveLatest(reference, parsed.back, checkpoints);
  if (parsed.name === '') throw unknown('An empty reference names no checkpoint.', []);

  if (parsed.fullId) {
    const same = preferLocal(checkpoints.filter((c) => c.id === parsed.idPrefix));
    if (same) return same;
  }
  const named = checkpoints.find((c) => c.name !== null && c.name.normalize('NFC') === parsed.name);
  if (named) return named;

  if (parsed.idPrefix !== null) {
    const wanted = parsed.idPrefix;
    const found = checkpoints.filter((c) => c.id.startsWith(wanted));
    if (new Set(found.map((c) => c.id)).size > 1) throw ambiguous(reference, found);
    const only = preferLocal(found);
    if (only) return only;
  }
  throw notFound(parsed.name, checkpoints);
}

function resolveLatest<T extends Referable>(reference: string, back: number, checkpoints: readonly T[]): T {
  const counted = checkpoints.filter(countsAsLatest);
  const found = counted[back];
  if (found) return found;
  if (counted.length === 0)
    throw new CheckpointsError(
      'unknown-reference',
      `There is no ${reference.trim()} yet: no checkpoint was made by a person or an agent, and no turn was recorded.`,
      { details: { candidates: [], none: true } },
    );
  throw unknown(`${reference.trim()} goes too far back: the oldest is latest~${counted.length - 1}.`, []);
}

/** A checkpoint that was pushed and fetched again exists twice; the local one has the workspace's own changes to its record. */
function preferLocal<T extends Referable>(found: readonly T[]): T | undefined {
  return found.find((c) => c.origin === null) ?? found[0];
}

function notFound(text: string, checkpoints: readonly Referable[]): CheckpointsError {
  if (/^cp_/i.test(text)) {
    const short = text.length - 'cp_'.length < minPrefix;
    return unknown(
      short
        ? `${text} is too short: an id prefix needs at least ${minPrefix} characters after "cp_".`
        : `No checkpoint has the id ${text}.`,
      [],
    );
  }
  const same = text.toLowerCase();
  const near = checkpoints.filter((c) => c.name !== null && c.name.toLowerCase() === same);
  if (near.length > 0)
    return unknown(
      `No checkpoint is named "${text}"; names are case-sensitive: did you mean "${near[0]?.name}"?`,
      near,
    );
  const titled = checkpoints.filter((c) => c.name === null && c.title === text);
  if (titled.length > 0)
    return unknown(
      `"${text}" is the title of an automatic checkpoint, and titles are not names: use its id, ${titled[0]?.id}.`,
      titled,
    );
  return unknown(`No checkpoint is named "${text}".`, []);
}

function ambiguous(reference: string, found: readonly Referable[]): CheckpointsError {
  const candidates = candidatesOf(found);
  const shown = candidates.slice(0, 20).map((c) => `${c.id} (${c.title})`);
  const more = candidates.length - shown.length;
  return new CheckpointsError(
    'ambiguous-reference',
    `${reference.trim()} fits ${candidates.length} checkpoints: ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}. Use more characters of the id.`,
    { details: { candidates } },
  );
}

function unknown(message: string, candidates: readonly Referable[]): CheckpointsError {
  return new CheckpointsError('unknown-reference', message, { details: { candidates: candidatesOf(candidates) } });
}

function candidatesOf(found: readonly Referable[]): Candidate[] {
  const seen = new Map<CheckpointId, Candidate>();
  for (const { id, name, title, createdAt } of found) if (!seen.has(id)) seen.set(id, { id, name, title, createdAt });
  return [...seen.values()];
}
