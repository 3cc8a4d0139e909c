/** The path itself is not among them; the last one is the root, ''. */
const above = (path: string): string[] => {
  const out: string[] = [];
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) out.push(path.slice(0, end));
  return [...out, ''];
};

/**
 * What is ticked, and the empty folders that come back with it. They have no row of their own: one belongs to the nearest
 * folder that has rows, and comes when all of these are ticked.
 */
export const withEmptyFolders = (
  shown: readonly string[],
  ticked: ReadonlySet<string>,
  emptyFolders: readonly string[],
): string[] => {
  const state = new Map<string, boolean>();
  for (const path of shown)
    for (const folder of above(path)) state.set(folder, (state.get(folder) ?? true) && ticked.has(path));
  const comes = (folder: string): boolean => {
    const nearest = above(folder).find((one) => state.has(one));
    return nearest !== undefined && state.get(nearest) === true;
  };
  return [...ticked, ...emptyFolders.filter(comes)];
};
