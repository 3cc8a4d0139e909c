import { realpathSync } from 'node:fs';
import { isAbsolute, relative, sep } from 'node:path';
import type { SessionInfo } from '../core/sessions';

/** Small things that both generations' normal forms need. */

export interface RawTokens {
  input?: number;
  output?: number;
  reasoning?: number;
  cache?: { read?: number; write?: number };
}

export function totalTokens(tokens: RawTokens | undefined): number {
  if (!tokens) return 0;
  const { input = 0, output = 0, reasoning = 0, cache } = tokens;
  return input + output + reasoning + (cache?.read ?? 0) + (cache?.write ?? 0);
}

export function modelName(provider: string | undefined, model: string | undefined): string | null {
  return model === undefined ? null : provider === undefined ? model : `${provider}/${model}`;
}

/** Of the sessions that are at work those to be stopped: a sub-agent stops with its parent, unless it was sent to work in the background. */
export function atWorkThemselves(sessions: readonly SessionInfo[], isAtWork: (session: string) => boolean): string[] {
  const parents = new Map(sessions.map(({ id, parentId }) => [id, parentId]));
  const stopsWithOther = (id: string, depth = 0): boolean => {
    const parent = parents.get(id) ?? null;
    return parent !== null && depth < 20 && (isAtWork(parent) || stopsWithOther(parent, depth + 1));
  };
  return sessions.filter(({ id }) => isAtWork(id) && !stopsWithOther(id)).map(({ id }) => id);
}

/** The path relative to the folder when it is inside it, with slashes; else as it is. */
export function relativeTo(directory: string, path: string): string {
  if (!isAbsolute(path)) return path;
  const inside = relative(directory, path);
  return inside === '' || inside.startsWith('..') || isAbsolute(inside) ? path : inside.split(sep).join('/');
}

/** Whether a session's folder is the given one or below it, also when one of them is named through a link. */
export function isWithin(root: string, directory: string): boolean {
  return inside(root, directory) || inside(real(root), real(directory));
}

function inside(root: string, directory: string): boolean {
  const path = relative(root, directory);
  return path === '' || (path !== '..' && !path.startsWith(`..${sep}`) && !isAbsolute(path));
}

function real(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    // The folder of an old session may be gone: its name is all there is then.
    return path;
  }
}
