import { openOurs } from '../open';

/** `node index.js TREE STORE`: time to the first list in a new process, and its memory with every record in hand. */
async function main(): Promise<void> {
  const [tree = '', store = ''] = process.argv.slice(2);
  const start = performance.now();
  const api = await openOurs({ tree, store });
  await api.list({ limit: 100 });
  const ms = performance.now() - start;
  const all = await api.list();
  await api.list({ search: 'session' });
  global.gc?.();
  const { rss } = process.memoryUsage();
  process.stdout.write(JSON.stringify({ ms, rss, checkpoints: all.length }) + '\n');
  await api.close();
}

void main();
