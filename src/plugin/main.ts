import { v1Hooks, type V1Input } from './v1';
import { isV2 } from './v2-context';
import { v2Setup } from './v2';

/**
 * One file for both generations: OpenCode 1 calls `server`, OpenCode 2 calls `setup`. OpenCode 1 calls `setup` as well, with a context that has
 * none of what is needed. Nothing else may be exported: OpenCode 1 would take it for another plugin.
 */
export default {
  id: 'opencode-checkpoints',
  server: (input: V1Input): Promise<Record<string, unknown>> => Promise.resolve(v1Hooks(input)),
  setup: async (context: unknown): Promise<unknown> => (isV2(context) ? v2Setup(context) : undefined),
};
