/** Names in a backup's folder; always with slashes, relative to it. See docs/formats.md. */

export const marker = 'backup.json';
export const syncLog = 'sync.log';
export const folders = {
  sessions: 'sessions',
  versions: 'versions',
  deleted: 'deleted',
  manifests: 'manifests',
} as const;

const plain = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/;

/** Project ids are hashes and the word `global`; whatever else one may be, it must not lead out of the folder. */
export function projectFolder(projectId: string | null): string {
  const id = projectId ?? 'global';
  return plain.test(id) ? id : `p-${Buffer.from(id).toString('hex').slice(0, 100)}`;
}

export function isSessionId(id: string): boolean {
  return /^ses[A-Za-z0-9_-]{0,125}$/.test(id);
}

export const sessionFile = (project: string, id: string): string => `${folders.sessions}/${project}/${id}.json`;
export const deletedFile = (project: string, id: string): string => `${folders.deleted}/${project}/${id}.json`;
export const manifestFile = (machine: string): string => `${folders.manifests}/${machine}.json`;
export const journalFile = (machine: string): string => `${folders.manifests}/${machine}.journal`;

/** Two machines that keep the same version give it the same name. */
export function versionFile(project: string, id: string, updatedAt: number, sha256: string): string {
  return `${folders.versions}/${project}/${id}/${Math.round(updatedAt)}-${sha256.slice(0, 12)}.json`;
}

export const todosFile = (file: string): string => file.replace(/\.json$/, '.todos.json');
export const isTodosFile = (file: string): boolean => file.endsWith('.todos.json');
