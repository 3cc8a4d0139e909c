import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/** Every file of a folder by content and mode. */
export function fingerprint(folder: string): Map<string, string> {
  const found = new Map<string, string>();
  const walk = (relative: string): void => {
    for (const name of readdirSync(join(folder, relative)).sort()) {
      const path = relative === '' ? name : `${relative}/${name}`;
      const file = join(folder, path);
      const stats = lstatSync(file);
      const mode = (stats.mode & 0o7777).toString(8);
      if (stats.isDirectory()) {
        found.set(path, `folder ${mode}`);
        walk(path);
      } else if (stats.isSymbolicLink()) found.set(path, `link ${readlinkSync(file)}`);
      else found.set(path, `file ${mode} ${createHash('sha1').update(readFileSync(file)).digest('hex')}`);
    }
  };
  walk('');
  return found;
}

/** The paths that were added, removed or changed. */
export function differences(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  const all = new Set([...before.keys(), ...after.keys()]);
  return [...all].filter((path) => before.get(path) !== after.get(path)).sort();
}
