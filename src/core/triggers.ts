import { resolve } from 'node:path';
import type { Config } from './config';
import type { Trigger } from './model';

/** Which tool calls need a checkpoint before them, and which files they name. Policy only: nothing is read here. */

export type CallPolicy =
  /** Changes no file of the workspace. */
  | { kind: 'none' }
  /** Changes exactly these; as the model wrote them, relative or absolute. */
  | { kind: 'paths'; paths: string[] }
  /** May change anything. */
  | { kind: 'scan' };

/** OpenCode's own tools that only look, ask, plan or delegate. A sub-agent's calls are looked at one by one. */
const harmless = new Set([
  ...['read', 'glob', 'grep', 'list', 'ls', 'lsp', 'codesearch', 'webfetch', 'websearch'],
  ...['todowrite', 'todoread', 'question', 'skill', 'task', 'subagent', 'plan_enter', 'plan_exit', 'invalid'],
]);

/** Ours make their own checkpoints. By their whole names: another server's tools may begin the same. */
export const ownTools: ReadonlySet<string> = new Set([
  ...['create', 'list', 'diff', 'restore', 'delete', 'stats'].map((name) => `checkpoint_${name}`),
  ...['save', 'load', 'status', 'clear', 'load_snapshot', 'restore_snapshot'].map((name) => `checkpoint_${name}`),
  ...['sync', 'status', 'restore'].map((name) => `session_backup_${name}`),
]);

const editors = new Set(['write', 'edit', 'multiedit']);
const patchers = new Set(['apply_patch', 'patch']);
const pathFields = ['filePath', 'path', 'file_path'];

export function callPolicy(tool: string, input: unknown): CallPolicy {
  if (harmless.has(tool) || ownTools.has(tool)) return { kind: 'none' };
  const fields = typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {};
  if (editors.has(tool)) {
    const path = pathFields.map((field) => fields[field]).find((value) => typeof value === 'string' && value !== '');
    if (typeof path === 'string') return { kind: 'paths', paths: [path] };
  }
  if (patchers.has(tool) && typeof fields['patchText'] === 'string') {
    const paths = patchPaths(fields['patchText']);
    if (paths.length > 0) return { kind: 'paths', paths };
  }
  return { kind: 'scan' };
}

/** Every file that a patch in OpenCode's format adds, updates, deletes or moves to. */
export function patchPaths(patch: string): string[] {
  const found = new Set<string>();
  for (const line of patch.split(/\r?\n/)) {
    const match = /^\s*\*\*\* (?:Add File|Update File|Delete File|Move to):(.*)$/.exec(line);
    const path = match?.[1]?.trim() ?? '';
    if (path !== '') found.add(path);
  }
  return [...found];
}

/** The tool resolves relative paths against the session's folder, which may lie below the workspace's root. */
export function absolutePaths(paths: readonly string[], directory: string): string[] {
  return paths.map((path) => resolve(directory, path));
}

/** The setting `automatic`. */
export function isWanted(automatic: Config['automatic'], trigger: Trigger): boolean {
  if (automatic === 'off') return false;
  return automatic === 'tool' || trigger !== 'tool';
}
