import { defineConfig } from 'vitest/config';

/** One project per suite of `npm test`. What drives servers and browsers runs one file at a time, with patience. */
const project = (name: string, options: { testTimeout: number; fileParallelism?: boolean; retry?: number }) => ({
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    environment: 'node' as const,
    pool: 'forks' as const,
    hookTimeout: Math.max(60_000, options.testTimeout),
    ...options,
  },
});

export default defineConfig({
  test: {
    maxWorkers: 2,
    passWithNoTests: false,
    projects: [
      project('unit', { testTimeout: 60_000 }),
      project('git', { testTimeout: 300_000 }),
      // Real servers answer late now and then; nothing of the engine's own is retried. Each has a home and a port of its own.
      project('opencode', { testTimeout: 240_000, retry: 1 }),
      // A browser on a busy machine loses a click now and then; what is broken fails three times.
      project('e2e', { testTimeout: 240_000, fileParallelism: false, retry: 2 }),
    ],
  },
});
