import { CheckpointsError } from './errors';

/** What the product itself writes into `metadata`, and believes when it tells who did what. Their makers are in `attribution.ts`, `originals.ts` and the hosts. */
const marks: ReadonlySet<string> = new Set(['turnEnd', 'midTurn', 'originals', 'subagent', 'late']);

/** The metadata of an agent, a person or a program: whoever could set a mark could make an agent's work look like somebody else's. */
export function callersMetadata<T extends Record<string, unknown> | undefined>(given: T): T {
  const taken = Object.keys(given ?? {}).filter((key) => marks.has(key));
  if (taken.length === 0) return given;
  const names = taken.map((key) => `"${key}"`).join(', ');
  throw new CheckpointsError(
    'invalid-argument',
    `Metadata cannot have ${names}: Checkpoints itself writes ${taken.length === 1 ? 'that' : 'those'}. Choose another name.`,
  );
}
