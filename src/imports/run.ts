import { existsSync } from 'node:fs';
import path from 'node:path';
import type { WorkspaceApi } from '../core/api';
import { CheckpointsError } from '../core/errors';
import { idOf } from '../core/imported';
import type { SessionGateway } from '../core/sessions';
import { ownExports } from '../core/task-store';
import { titleOf } from '../core/titles';
import type { WasmSource } from '../index/sqlite';
import { withAnchors } from './anchored';
import { alreadyHere, sourceNames, type Found, type ImportReport, type Source } from './model';
import { readS1, s1Default } from './s1';
import { readS2, s2Default } from './s2';
import { readS5, s5Default } from './s5';

export type CheckpointSource = Exclude<Source, 's4'>;

export interface ImportRequest {
  from: CheckpointSource;
  /** Left out: where that program keeps its data. */
  path?: string;
  dryRun?: boolean;
}

export interface ImportNeeds {
  workspace: Pick<WorkspaceApi, 'root' | 'folder' | 'list' | 'adopt'>;
  /** SQLite's WebAssembly, for s1. */
  wasm: WasmSource;
  /** Knows titles and messages of sessions; null: what it would have told is found out at a restore. */
  gateway?: () => Promise<SessionGateway | null>;
  now?: () => number;
}

export function defaultPath(from: CheckpointSource, root: string): string {
  return { s1: () => s1Default(), s2: () => s2Default(root), s5: () => s5Default() }[from]();
}

/** Where an id's time ends: of what a wrong clock dated after now it is the time of the import, and differs each time. */
const hashAt = 'cp_'.length + 10;

/** Reads a source and makes checkpoints of what is new in it: a second run finds nothing new. */
export async function runImport(request: ImportRequest, needs: ImportNeeds): Promise<ImportReport> {
  const { workspace } = needs;
  const source = sourcePath(request, workspace.root);
  // A colleague's import of the same thing does not make it ours.
  const here = (await workspace.list()).filter(({ origin }) => origin === null);
  const found = await look(request, source, needs, here);
  const now = (needs.now ?? Date.now)();
  const known = new Set(here.map(({ id }) => id.slice(hashAt)));
  const fresh = found.items.filter((item) => {
    if (!known.has(idOf(item, now).slice(hashAt))) return true;
    found.skipped.push({ item: item.name ?? item.title ?? item.key, reason: alreadyHere });
    return false;
  });
  const report: ImportReport = {
    from: request.from,
    path: source,
    dryRun: request.dryRun === true,
    imported: [],
    skipped: found.skipped,
    problems: found.problems,
  };
  if (request.dryRun) {
    report.imported = fresh.map((item) => ({
      id: idOf(item, now),
      title: titleOf({ name: item.name ?? item.title, trigger: 'import', task: item.task }),
      createdAt: new Date(item.madeAt).toISOString(),
    }));
    return report;
  }
  const items = fresh.some(({ session }) => session) ? await withAnchors(fresh, needs, found) : fresh;
  const { added, known: meanwhile } = await workspace.adopt(items);
  report.imported = added.map(({ id, title, createdAt }) => ({ id, title, createdAt }));
  for (const { title } of meanwhile) report.skipped.push({ item: title, reason: alreadyHere });
  for (const { title, files } of added)
    for (const { path: file, reason } of files.skipped)
      report.problems.push({ item: `${title}: ${file}`, message: `It was left out: ${reason}.` });
  return report;
}

function sourcePath({ from, path: given }: ImportRequest, root: string): string {
  const source = given === undefined ? defaultPath(from, root) : path.resolve(given);
  if (existsSync(source)) return source;
  throw new CheckpointsError(
    'invalid-argument',
    given === undefined
      ? `Nothing of ${sourceNames[from]} is at ${source}. Name the place if it is elsewhere.`
      : `There is no ${source}.`,
  );
}

async function look(
  { from, path: given }: ImportRequest,
  source: string,
  { workspace, wasm }: ImportNeeds,
  here: Awaited<ReturnType<WorkspaceApi['list']>>,
): Promise<Found> {
  switch (from) {
    case 's1':
      return readS1(source, workspace.root, given !== undefined, wasm);
    case 's2':
      return readS2(source, here, await ownExports(workspace.folder));
    case 's5':
      return readS5(source, workspace.root, given !== undefined, here);
  }
}
