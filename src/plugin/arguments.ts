import { CheckpointsError } from '../core/errors';
import { restoreScopes, type RestoreScope } from '../core/model';
import { characterCount } from '../core/text';

/** What a model sends is not checked by OpenCode: here it is, with errors that say what to send instead. */

export type Arguments = Record<string, unknown>;

export function asArguments(value: unknown): Arguments {
  if (value === undefined || value === null) return {};
  if (typeof value === 'object' && !Array.isArray(value)) return value as Arguments;
  throw refused('The arguments are one JSON object.');
}

export function optionalText(args: Arguments, name: string, max?: number): string | undefined {
  const value = args[name];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') throw refused(`"${name}" is a text, not ${JSON.stringify(value)}.`);
  if (max !== undefined) refuseLonger(name, characterCount(value), max);
  return value;
}

/** Refused rather than cut: the model knows best what to leave out. */
function refuseLonger(name: string, length: number, max: number): void {
  if (length > max) throw refused(`"${name}" has at most ${max} characters; this one has ${length}.`);
}

export function requiredText(args: Arguments, name: string, example: string): string {
  const value = optionalText(args, name)?.trim();
  if (!value) throw refused(`"${name}" is missing. Example: {"${name}": ${JSON.stringify(example)}}.`);
  return value;
}

export function optionalCount(args: Arguments, name: string, max: number): number | undefined {
  const value = args[name];
  if (value === undefined || value === null || value === '') return undefined;
  const number = typeof value === 'string' ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isInteger(number) || number < 1)
    throw refused(`"${name}" is a whole number from 1 to ${max}, not ${JSON.stringify(value)}.`);
  return Math.min(number, max);
}

export function flag(args: Arguments, name: string): boolean {
  const value = args[name];
  if (value === undefined || value === null || value === false || value === 'false' || value === '') return false;
  if (value === true || value === 'true') return true;
  throw refused(`"${name}" is true or false, not ${JSON.stringify(value)}.`);
}

export function optionalObject(args: Arguments, name: string, max: number): Record<string, unknown> | undefined {
  const value = args[name];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'object' || Array.isArray(value)) throw refused(`"${name}" is a JSON object.`);
  refuseLonger(name, JSON.stringify(value).length, max);
  return value as Record<string, unknown>;
}

/** "files,task" or a list. */
export function optionalScope(args: Arguments, name: string): RestoreScope[] | undefined {
  const value = args[name];
  if (value === undefined || value === null || value === '') return undefined;
  const words = Array.isArray(value) ? value : typeof value === 'string' ? value.split(/[,\s]+/) : [value];
  const wanted = words.filter((word) => word !== '');
  for (const word of wanted)
    if (!restoreScopes.some((scope) => scope === word))
      throw refused(`"${name}" is made of ${restoreScopes.join(', ')}; ${JSON.stringify(word)} is none of them.`);
  // An empty list names nothing, and a restore of nothing is not what anybody means.
  return wanted.length === 0 ? undefined : restoreScopes.filter((scope) => wanted.includes(scope));
}

export const refused = (message: string): CheckpointsError => new CheckpointsError('invalid-argument', message);
