import type { EngineKind } from '../engine';
import { clineLegacy } from '../peers/cline-legacy';
import { clineSdk } from '../peers/cline-sdk';
import { opencode } from '../peers/opencode';
import { roo } from '../peers/roo';

/** `node fresh.js ENGINE TREE STORE`: one checkpoint by a peer's sequence from a process of its own. */
async function main(): Promise<void> {
  const [name, tree = '', store = ''] = process.argv.slice(2);
  const kinds: readonly EngineKind[] = [roo, clineLegacy, clineSdk, opencode];
  const kind = kinds.find((candidate) => candidate.name === name);
  if (kind === undefined) throw new Error(`no engine is called ${name}`);
  process.stdout.write((await kind.open({ tree, store }).checkpoint({ lane: 'scan', automatic: false })) + '\n');
}

void main();
