import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { codeOf, writeAtomic } from '../core/atomic-file';
import { withShortLock } from '../core/short-lock';

export interface Machine {
  id: string;
  /** For people. */
  name: string;
}

interface KnownMachine extends Machine {
  /** The system's own identity, where it has one. */
  system: string;
}

/** Where this machine keeps what it knows about its backups. */
export const localFolder = (home: string): string => join(home, 'backup');

/** Made at the first use. A home that is copied to a second machine takes it along: the system's identity tells them apart. */
export async function thisMachine(home: string): Promise<Machine> {
  const folder = localFolder(home);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, 'machine.json');
  return withShortLock(`${file}.lock`, async (confirm) => {
    const name = hostname();
    const system = await systemIdentity();
    const known = await readMachines(file);
    const own = known.find((machine) => machine.system === system);
    if (own) return { id: own.id, name: own.name };
    const made = { id: `${slug(name)}-${randomBytes(4).toString('hex')}`, name };
    await writeAtomic(
      file,
      `${JSON.stringify({ machines: [...known, { ...made, system }] }, null, 2)}\n`,
      0o600,
      confirm,
    );
    return made;
  });
}

/** Not the host's name: that changes with the network. */
async function systemIdentity(): Promise<string> {
  try {
    const id = (await readFile('/etc/machine-id', 'utf8')).trim();
    return id === '' ? '' : createHash('sha256').update(`opencode-checkpoints ${id}`).digest('hex').slice(0, 16);
  } catch {
    // Other systems, and containers, have none: then the home alone is the identity.
    return '';
  }
}

const slug = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40) || 'machine';

async function readMachines(file: string): Promise<KnownMachine[]> {
  try {
    const { machines } = JSON.parse(await readFile(file, 'utf8')) as { machines?: KnownMachine[] };
    return (machines ?? []).filter(({ id, name }) => /^[a-z0-9-]+$/.test(id) && typeof name === 'string');
  } catch (error) {
    // Broken is as good as none: under a new identity everything is read once more, and nothing is lost.
    if (codeOf(error) === 'ENOENT' || error instanceof SyntaxError || error instanceof TypeError) return [];
    throw error;
  }
}
