import { fileURLToPath } from 'node:url';
import { claim, release, waitFor } from './copies';
import { v1Hooks, type V1Input } from './v1';
import { v2Setup } from './v2';
import { isV2, type V2Context } from './v2-context';

const own = import.meta.url.split('?')[0] ?? '';

/** OpenCode 1 drops and loads all plugins of a folder together: a copy that remains is asked again. */
function v1Server(input: V1Input): Record<string, unknown> {
  const { directory } = input;
  if (!claim(directory, own)) return {};
  let hooks: ReturnType<typeof v1Hooks>;
  try {
    hooks = v1Hooks(input, fileURLToPath(own));
  } catch (error) {
    release(directory, own);
    throw error;
  }
  const dispose = async (): Promise<void> => {
    release(directory, own);
    await hooks.dispose();
  };
  return { ...hooks, dispose };
}

/** OpenCode 2 drops and loads each copy by itself: one that is not needed now may be later. */
async function v2Copy(context: V2Context): Promise<() => Promise<void>> {
  const { directory } = context.location;
  let running: Promise<() => Promise<void>> | null = null;
  const begin = (): Promise<() => Promise<void>> => (running = v2Setup(context));
  const stopWaiting = claim(directory, own)
    ? null
    : waitFor(directory, own, () => {
        begin().catch((error: unknown) => {
          release(directory, own);
          process.stderr.write(`opencode-checkpoints error: The plugin could not take over: ${String(error)}\n`);
        });
      });
  try {
    if (!stopWaiting) await begin();
  } catch (error) {
    release(directory, own);
    throw error;
  }
  return async () => {
    stopWaiting?.();
    release(directory, own);
    // A copy that could not begin said so then.
    const end = await running?.catch(() => null);
    await end?.();
  };
}

/**
 * One file for both generations: OpenCode 1 calls `server`, OpenCode 2 calls `setup`. OpenCode 1 calls `setup` as well, with a context that has
 * none of what is needed. Nothing else may be exported: OpenCode 1 would take it for another plugin.
 */
export default {
  id: 'opencode-checkpoints',
  server: (input: V1Input): Promise<Record<string, unknown>> => Promise.resolve(v1Server(input)),
  setup: async (context: unknown): Promise<unknown> => (isV2(context) ? v2Copy(context) : undefined),
};
