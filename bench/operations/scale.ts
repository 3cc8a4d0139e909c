import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Context } from '../context';
import { run } from '../exec';
import { operations, ours } from '../names';
import { Ours } from '../ours';
import { cloneTemplate, makeTemplate } from '../repository';
import { fillStore, indexFile } from './fill';

interface ChildAnswer {
  ms: number;
  rss: number;
  checkpoints: number;
}

const reps = 15;

/** List, search, cold start and memory with many checkpoints; the files hardly matter, so there are few. */
export async function scale(context: Context): Promise<void> {
  const { ledger, options } = context;
  context.log(`${options.indexed} checkpoints in the index`);
  const template = await makeTemplate(join(context.scratch, 'index.git'), 300, options.seed + 3);
  const places = ['index-full', 'index-empty'].map((name) => ({
    tree: join(context.scratch, 'trees', name),
    store: join(context.scratch, 'stores', name),
  }));
  const [full, empty] = places as [(typeof places)[0], (typeof places)[0]];
  for (const { tree } of places) await cloneTemplate(template, tree);
  const bare = new Ours(empty);
  await bare.first();
  await bare.close();

  const filling = new Ours(full);
  await fillStore(await filling.open(), options.indexed, template.editable);
  const index = indexFile(filling.api);
  await filling.close();

  for (let rep = 0; rep < 3; rep += 1) {
    await rm(index, { force: true });
    const rebuilt = await inChild(context, full);
    ledger.sample(operations.rebuild, ours, rebuilt.ms);
    const cold = await inChild(context, full);
    ledger.sample(operations.coldStart, ours, cold.ms);
    ledger.gate('the index holds every checkpoint', cold.checkpoints === options.indexed, `${cold.checkpoints}`);
    ledger.gate('the index is rebuilt whole', rebuilt.checkpoints === options.indexed, `${rebuilt.checkpoints}`);
    const none = await inChild(context, empty);
    ledger.size(operations.memory, ours, Math.max(0, cold.rss - none.rss));
  }

  const engine = new Ours(full);
  const api = await engine.open();
  await api.list({ limit: 1 });
  for (let rep = 0; rep < reps; rep += 1) {
    await ledger.time(operations.listAll, ours, () => api.list());
    await ledger.time(operations.listPage, ours, () => api.list({ limit: 100 }));
    const wanted = `Step ${rep * 100 + 7}`;
    const found = await ledger.time(operations.search, ours, () => api.list({ search: wanted, limit: 100 }));
    const hit = found.some((checkpoint) => checkpoint.name?.startsWith(wanted) === true);
    ledger.gate('search finds what is there', hit, wanted);
  }
  await engine.close();
}

/** Opens the workspace in a process of its own, lists everything, and tells the time and the memory. */
async function inChild(context: Context, place: { tree: string; store: string }): Promise<ChildAnswer> {
  const program = join(context.bundles, 'index.js');
  const { stdout } = await run(process.execPath, ['--expose-gc', program, place.tree, place.store]);
  return JSON.parse(stdout.toString('utf8')) as ChildAnswer;
}
