import { CheckpointsError } from '../core/errors';
import { callersMetadata } from '../core/marks';
import { type RestoreScope, restoreScopes, type Trigger, triggers } from '../core/model';

/** Option values are checked here and not by the parser: a bad value is a refusal (1), wrong usage is another thing (2). */
const bad = (message: string): CheckpointsError => new CheckpointsError('invalid-argument', message);

export function parseLimit(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < 1)
    throw bad(`--limit takes a whole number from 1, not "${text}"`);
  return value;
}

/** `--session "$ID"` with a variable that is empty asks for no session, and is not meant for all of them either. */
export function parseSession(text: string | undefined): string | undefined {
  if (text === '') throw bad('--session takes an id');
  return text;
}

export function parseTrigger(text: string | undefined): Trigger | undefined {
  if (text === undefined) return undefined;
  const found = triggers.find((trigger) => trigger === text);
  if (!found) throw bad(`--trigger takes one of ${triggers.join(', ')}, not "${text}"`);
  return found;
}

/** `--scope files,task` or `--scope files --scope task`. */
export function parseScope(texts: string[] | undefined): RestoreScope[] | undefined {
  if (texts === undefined) return undefined;
  const scope = new Set<RestoreScope>();
  for (const text of texts.flatMap((one) => one.split(','))) {
    const found = restoreScopes.find((one) => one === text.trim());
    if (!found) throw bad(`--scope takes ${restoreScopes.join(', ')}, joined by commas, not "${text}"`);
    scope.add(found);
  }
  return restoreScopes.filter((one) => scope.has(one));
}

export function parseExisting(text = 'skip'): 'skip' | 'copy' {
  if (text === 'skip' || text === 'copy') return text;
  throw bad(`--existing takes skip or copy, not "${text}"`);
}

const forbiddenKeys = new Set(['__proto__', 'constructor', 'prototype']);

export function parseMeta(pairs: string[] | undefined): Record<string, unknown> | undefined {
  if (pairs === undefined) return undefined;
  const metadata: Record<string, unknown> = {};
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1) throw bad(`--meta takes KEY=VALUE, not "${pair}"`);
    const key = pair.slice(0, at);
    if (forbiddenKeys.has(key)) throw bad(`--meta cannot set "${key}"`);
    metadata[key] = pair.slice(at + 1);
  }
  return callersMetadata(metadata);
}
