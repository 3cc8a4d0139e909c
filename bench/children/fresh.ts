import { peers } from '../kinds';

/** `node fresh.js ENGINE TREE STORE`: one checkpoint by a peer's sequence from a process of its own. */
async function main(): Promise<void> {
  const [name, tree = '', store = ''] = process.argv.slice(2);
  const kind = peers.find((candidate) => candidate.name === name);
  if (kind === undefined) throw new Error(`no engine is called ${name}`);
  process.stdout.write((await kind.open({ tree, store }).checkpoint({ lane: 'scan', automatic: false })) + '\n');
}

void main();
