import * as path from 'node:path';

/** The path of a file below a folder, with slashes; undefined for the folder itself and for what lies outside. */
export const relativePath = (folder: string, file: string): string | undefined => {
  const relative = path.relative(folder, file);
  const outside = relative === '..' || relative.startsWith(`..${path.sep}`) || path.isAbsolute(relative);
  return relative === '' || outside ? undefined : relative.split(path.sep).join('/');
};
