import { CheckpointsError } from '../core/errors';
import type { BackupVersion, VerifyReport } from './api';
import type { Catalog, CatalogSession } from './catalog';
import { isTodosFile } from './layout';

/** Reads every file that a manifest names and says which are not what was written. */
export async function verifyBackup(
  catalog: Catalog,
  progress: (done: number, total: number) => void,
  signal?: AbortSignal,
): Promise<VerifyReport> {
  const report: VerifyReport = { path: catalog.folder.path, checked: 0, bytes: 0, damaged: [] };
  const owners = new Map<string, { session: CatalogSession; version: BackupVersion }>();
  for (const session of catalog.sessions.values())
    for (const version of session.versions) owners.set(version.file, { session, version });
  const whole = new Set<string>();
  const broken: Array<{
    file: string;
    session: CatalogSession | null;
    problem: VerifyReport['damaged'][0]['problem'];
  }> = [];
  const { files } = catalog;
  for (const [index, file] of files.entries()) {
    if (index % 20 === 0) progress(index, files.length);
    if (signal?.aborted) throw new CheckpointsError('cancelled', 'Cancelled');
    const owner = owners.get(isTodosFile(file) ? file.replace(/\.todos\.json$/, '.json') : file);
    const bytes = await catalog.folder.read(file);
    const problem = isTodosFile(file)
      ? catalog.inspectTodos(file, bytes)
      : catalog.inspect(file, bytes, owner?.version.updatedAt ?? Infinity, owner?.session.id ?? idIn(file));
    if (problem === 'missing' && !catalog.isMissed(file)) continue;
    report.checked += 1;
    report.bytes += bytes?.length ?? 0;
    if (problem === null) whole.add(file);
    else broken.push({ file, session: owner?.session ?? catalog.sessions.get(idIn(file)) ?? null, problem });
  }
  for (const { file, message: _message } of catalog.unreadable)
    broken.push({ file, session: null, problem: 'unreadable' });
  report.damaged = broken.map(({ file, session, problem }) => ({
    file,
    session: session?.id ?? null,
    problem,
    older: session?.versions.filter((version) => version.file !== file && whole.has(version.file)) ?? [],
  }));
  progress(files.length, files.length);
  return report;
}

/** `sessions/<project>/<id>.json`, `versions/<project>/<id>/….json`. */
function idIn(file: string): string {
  const parts = file.split('/');
  return (parts[0] === 'versions' ? parts[2] : parts[2]?.replace(/(\.todos)?\.json$/, '')) ?? '';
}
