import { v1Hooks, type V1Input } from './v1';
import { v2Setup } from './v2';
import { isV2 } from './v2-context';

/** Which copy of this file looks after a folder. It may be installed for the project and for the user, and be loaded twice. */
const copies = ((globalThis as Record<symbol, unknown>)[Symbol.for('opencode-checkpoints')] ??= new Map()) as Map<
  string,
  string
>;

function isFirstCopy(directory: string): boolean {
  const own = import.meta.url.split('?')[0] ?? '';
  const first = copies.get(directory) ?? own;
  copies.set(directory, first);
  return first === own;
}

/**
 * One file for both generations: OpenCode 1 calls `server`, OpenCode 2 calls `setup`. OpenCode 1 calls `setup` as well, with a context that has
 * none of what is needed. Nothing else may be exported: OpenCode 1 would take it for another plugin.
 */
export default {
  id: 'opencode-checkpoints',
  server: (input: V1Input): Promise<Record<string, unknown>> =>
    Promise.resolve(isFirstCopy(input.directory) ? v1Hooks(input) : {}),
  setup: async (context: unknown): Promise<unknown> =>
    isV2(context) && isFirstCopy(context.location.directory) ? v2Setup(context) : undefined,
};
