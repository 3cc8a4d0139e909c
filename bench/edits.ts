import { sample, seeded } from './random';

/** One file's new content; null deletes it. */
export interface Edit {
  path: string;
  content: Buffer | null;
}

/** What is to be done to which paths; the same for every engine. */
export interface EditPlan {
  modify: string[];
  create: string[];
  remove: string[];
  /** Goes into the new text, so that no two edits make the same content. */
  tag: string;
}

/** Modifies most, creates a tenth and deletes a tenth, unless there is but one. */
export function planEdits(editable: readonly string[], count: number, tag: string, seed: number): EditPlan {
  const random = seeded(seed);
  const paths = sample(random, editable, count);
  const tenth = count < 10 ? 0 : Math.floor(count / 10);
  const create = paths.slice(0, tenth).map((path, at) => {
    const folder = path.slice(0, path.lastIndexOf('/'));
    return `${folder}/made-${tag}-${at}.ts`;
  });
  return { modify: paths.slice(2 * tenth), create, remove: paths.slice(tenth, 2 * tenth), tag };
}

export const planPaths = (plan: EditPlan): string[] => [...plan.modify, ...plan.create, ...plan.remove].sort();

/** An edit as agents make them: a line put in, one taken out, the rest as it was. */
export function editedText(before: Buffer, tag: string, path: string): Buffer {
  const lines = before.toString('utf8').split('\n');
  const at = Math.floor(lines.length / 2);
  lines.splice(at, lines.length > 4 ? 1 : 0, `  // edited in ${tag}`, `  note('${tag}', '${path}');`);
  return Buffer.from(lines.join('\n'));
}

export const createdText = (tag: string, path: string): Buffer =>
  Buffer.from(`// ${path}\nexport const made = '${tag}';\n` + `export const line = made.length;\n`.repeat(20));
