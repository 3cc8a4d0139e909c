import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { writeAtomic } from '../core/atomic-file';
import { CheckpointsError } from '../core/errors';
import { ourPage } from '../core/handoff';
import { stateFiles } from '../core/task-files';
import { findOldSessions } from './s4-places';
import { sources, type Source } from './model';
import { defaultPath, runImport, type CheckpointSource, type ImportNeeds } from './run';

export interface Offer {
  from: Source;
  path: string;
  /** Checkpoints, or sessions for s4. */
  count: number;
}

/** What older programs left for this workspace at their usual places, and is not here yet. Reads only. */
export async function findOldData(needs: ImportNeeds, but: ReadonlySet<Source> = new Set()): Promise<Offer[]> {
  const offers: Offer[] = [];
  const { root } = needs.workspace;
  for (const from of sources) {
    if (but.has(from)) continue;
    const offer = from === 's4' ? await findOldSessions(root) : await look(from, needs);
    if (offer !== null && offer.count > 0) offers.push(offer);
  }
  return offers;
}

async function look(from: CheckpointSource, needs: ImportNeeds): Promise<Offer | null> {
  const place = defaultPath(from, needs.workspace.root);
  if (!existsSync(place)) return null;
  // A store that was left behind, when the folder was moved for instance, knew them; the doctor brings that back, and not once this one has checkpoints.
  if (from === 's2' && (await isOurs(place))) return null;
  try {
    const { imported } = await runImport({ from, dryRun: true }, needs);
    return { from, path: place, count: imported.length };
  } catch (error) {
    // A file of that name that is something else, or damaged: whoever imports it by hand is told.
    if (CheckpointsError.is(error, 'invalid-argument')) return null;
    throw error;
  }
}

/** What lies there was exported by us, by the page beside it. */
async function isOurs(folder: string): Promise<boolean> {
  const page = await readFile(path.join(folder, stateFiles.page), 'utf8').catch(() => ''); // none, or no file: who knows
  return page.includes(ourPage);
}

/** Which sources were offered in this workspace, by any host: nobody is asked twice. */
export class Offered {
  private readonly file: string;

  constructor(private readonly folder: string) {
    this.file = path.join(folder, 'offers.json');
  }

  async read(): Promise<Set<Source>> {
    try {
      const value = JSON.parse(await readFile(this.file, 'utf8')) as { import?: Record<string, unknown> } | null;
      return new Set(sources.filter((from) => value?.import?.[from] !== undefined));
    } catch (error) {
      // Absent or damaged: at worst somebody is asked once more.
      if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return new Set();
      throw error;
    }
  }

  async add(offers: readonly Pick<Offer, 'from'>[]): Promise<void> {
    const all = new Set([...(await this.read()), ...offers.map(({ from }) => from)]);
    const when = new Date().toISOString();
    await mkdir(this.folder, { recursive: true });
    const content = { import: Object.fromEntries([...all].map((from) => [from, when])) };
    await writeAtomic(this.file, `${JSON.stringify(content, null, 2)}\n`);
  }
}
