// Installs what the tests and the demo need and finds it again. No dependencies: it runs before `npm ci` did.
//   node test/rig/install.mjs [modules|git|sqlite|chromium|vscode|opencodeV1|opencodeV2|opencode]...
import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { cacheRoot } from './install-cache.mjs';
import { parts } from './install-parts.mjs';
import { MissingError } from './install-system.mjs';

const groups = { opencode: ['opencodeV1', 'opencodeV2'] };
const tools = ['chromium', 'vscode', 'opencodeV1', 'opencodeV2'];

function expand(names) {
  const all = names.flatMap((name) => groups[name] ?? [name]);
  for (const name of all)
    if (!(name in parts))
      throw new Error(`Unknown part "${name}". Parts: ${[...Object.keys(parts), ...Object.keys(groups)].join(', ')}`);
  return all;
}

/** Installs what is missing of the named parts (default: all) and answers with where they are. */
export async function ensure(names = Object.keys(parts)) {
  const found = {};
  for (const name of expand(names)) {
    const part = parts[name];
    if (!part.find()) await part.install();
    const place = part.find();
    if (!place) throw new Error(`${name} was installed but cannot be found`);
    Object.assign(found, place);
  }
  return found;
}

/** Where the installed tools are; throws and says how to install what is missing. Installs nothing. */
export async function locate(names = tools) {
  const found = {};
  for (const name of expand(names)) {
    const place = parts[name].find();
    if (!place)
      throw new MissingError(
        `${name} (looked in ${cacheRoot()} and on PATH)`,
        `Run: node test/rig/install.mjs ${name}`,
      );
    Object.assign(found, place);
  }
  return found;
}

export { cacheRoot };

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  try {
    const names = process.argv.slice(2);
    process.stdout.write(`${JSON.stringify(await ensure(names.length ? names : undefined), null, 2)}\n`);
  } catch (error) {
    process.stderr.write(`${error instanceof MissingError ? error.message : error.stack}\n`);
    process.exitCode = 1;
  }
}
