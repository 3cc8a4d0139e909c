import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, type Context } from '../context';
import { run } from '../exec';
import { operations, ours } from '../names';
import { cloneTemplate } from '../repository';

const calls = 30;

/**
 * What the plugin adds to each tool call of a real OpenCode: the time from the call's announcement until OpenCode may go on. The first
 * call is left out: it opens the store.
 */
export async function agentLatency(context: Context): Promise<void> {
  const { ledger, template, scratch, bundles } = context;
  context.log('latency added to a tool call, in OpenCode itself');
  for (const generation of ['v1', 'v2'] as const) {
    const operation = generation === 'v1' ? operations.callV1 : operations.callV2;
    const tree = join(scratch, 'trees', `agent-${generation}`);
    const times = join(scratch, `times-${generation}`);
    await cloneTemplate(template, tree);
    const paths = template.editable.slice(0, calls + 1);
    try {
      const plugin = join(bundles, 'opencode-checkpoints.js');
      // Imported, not started: the rig's installer inside it would take itself for the program.
      const load = 'import(process.env.BENCH_AGENT)';
      const env = { ...process.env, OPENCODE_CHECKPOINTS_CACHE: process.env.BENCH_TOOLS };
      await run(process.execPath, ['-e', load, tree, generation, plugin, times, ...paths], { env });
      const measured = (await readFile(times, 'utf8')).trim().split('\n').map(Number).slice(1);
      ledger.gate(`OpenCode ${generation} waits for the plugin before every call`, measured.length === calls);
      for (const ms of measured) ledger.sample(operation, ours, ms);
    } catch (error) {
      ledger.fail(operation, ours, messageOf(error));
    }
    await rm(tree, { recursive: true, force: true });
  }
}
