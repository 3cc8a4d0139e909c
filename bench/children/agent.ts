import { rename, rm } from 'node:fs/promises';
import { startOpenCode, type Generation } from '../../test/rig/opencode';
import { write } from '../../test/rig/script';

/**
 * `agent.mjs TREE GENERATION PLUGIN TIMES PATH...`: a real OpenCode with our plugin on TREE, whose scripted model writes each
 * path once. The plugin leaves its times in TIMES. TREE is used up.
 */
async function main(): Promise<void> {
  const [tree = '', generation, plugin = '', times = '', ...paths] = process.argv.slice(1);
  const server = await startOpenCode({
    generation: generation as Generation,
    plugins: [plugin],
    pluginFolder: 'global',
    env: { BENCH_TIMES: times },
    stopped: true,
  });
  try {
    await rm(server.workspace, { recursive: true, force: true });
    await rename(tree, server.workspace);
    await server.start();
    const session = await server.createSession('Bench');
    const steps = paths.map((path, i) => ({ tools: [write(path, `written by the agent, ${i}\n`)] }));
    await server.turn(session, 'write every file', [...steps, { text: 'Done.' }]);
  } finally {
    await server.dispose();
  }
}

await main();
