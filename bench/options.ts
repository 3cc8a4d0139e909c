import { parseArgs } from 'node:util';

export const groups = ['first', 'plain', 'cycle', 'lane', 'fresh', 'storage', 'scale', 'gc', 'agent'] as const;
export type Group = (typeof groups)[number];

export interface Options {
  files: number;
  reps: number;
  json: boolean;
  quick: boolean;
  only: readonly Group[];
  seed: number;
  /** Leave the peers out: for working on our own engine. */
  peers: boolean;
  /** How many files the largest edit changes, checkpoints the storage test makes, and checkpoints the index holds. */
  many: number;
  stored: number;
  indexed: number;
}

export const usage = `npm run bench -- [options]
  --files N      files in the generated repository (60000)
  --reps R       repetitions of the main cycle (5)
  --json         one JSON document on standard output, progress on standard error
  --quick        a small run that touches everything: 3000 files, 2 repetitions
  --only A,B     only these parts: ${groups.join(', ')}
  --seed S       seed of the repository and the edits (1)
  --no-peers     our own engine alone`;

/** Throws with the usage text on anything it does not know. */
export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      files: { type: 'string' },
      reps: { type: 'string' },
      json: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      seed: { type: 'string', default: '1' },
      'no-peers': { type: 'boolean', default: false },
    },
  });
  const files = number('--files', values.files ?? (values.quick ? '3000' : '60000'), 200);
  return {
    files,
    reps: number('--reps', values.reps ?? (values.quick ? '2' : '5'), 1),
    json: values.json,
    quick: values.quick,
    only: values.only === undefined ? groups : values.only.split(',').map(group),
    seed: number('--seed', values.seed, 0),
    peers: !values['no-peers'],
    many: Math.min(5000, Math.floor(files / 4)),
    stored: values.quick ? 100 : 500,
    indexed: values.quick ? 2000 : 10_000,
  };
}

function number(name: string, text: string, least: number): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < least) throw new Error(`${name} wants a whole number of at least ${least}`);
  return value;
}

function group(text: string): Group {
  const found = groups.find((known) => known === text.trim());
  if (found === undefined) throw new Error(`--only does not know "${text}"; it knows ${groups.join(', ')}`);
  return found;
}
