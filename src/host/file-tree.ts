/** Paths as folders, where a chain of folders with one child each is one row, as VS Code's own views show it. */
export interface PathFolder<T> {
  path: string;
  label: string;
  folders: Array<PathFolder<T>>;
  files: T[];
}

interface Building<T> {
  folders: Map<string, Building<T>>;
  files: T[];
}

export const pathTree = <T>(items: readonly T[], pathOf: (item: T) => string): PathFolder<T> => {
  const root: Building<T> = { folders: new Map(), files: [] };
  for (const item of items) {
    let at = root;
    for (const part of pathOf(item).split('/').slice(0, -1)) {
      const next = at.folders.get(part) ?? { folders: new Map(), files: [] };
      at.folders.set(part, next);
      at = next;
    }
    at.files.push(item);
  }
  return finish(root, '', '', pathOf);
};

const finish = <T>(building: Building<T>, path: string, label: string, pathOf: (item: T) => string): PathFolder<T> => {
  const [only] = building.folders;
  if (path !== '' && building.files.length === 0 && building.folders.size === 1 && only !== undefined)
    return finish(only[1], `${path}/${only[0]}`, `${label}/${only[0]}`, pathOf);
  return {
    path,
    label,
    folders: [...building.folders]
      .sort(([a], [b]) => a.localeCompare(b))
      .map(([name, child]) => finish(child, path === '' ? name : `${path}/${name}`, name, pathOf)),
    files: [...building.files].sort((a, b) => pathOf(a).localeCompare(pathOf(b))),
  };
};

/** All items below a folder. */
export const filesBelow = <T>(folder: PathFolder<T>): T[] => [...folder.folders.flatMap(filesBelow), ...folder.files];
