import type { Change, Checkpoint, Trigger } from '../core/model';
import { shorten } from '../core/text';
import type { TurnEnd } from '../core/turn-ends';
import { triggerLabel } from '../protocol/trigger-names';

/** Words and signs for checkpoints, the same in the tree, the picks and the status bar. No vscode here. */

export const triggerIcons: Record<Trigger, string> = {
  manual: 'bookmark',
  agent: 'hubot',
  task: 'checklist',
  turn: 'comment',
  tool: 'tools',
  idle: 'pass',
  compaction: 'fold',
  interval: 'watch',
  restore: 'discard',
  import: 'cloud-download',
};

export const number = (count: number): string => count.toLocaleString('en');

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${number(count)} ${count === 1 ? one : many}`;

/** Cents, and smaller parts only where there are no cents. */
export const money = (value: number): string => `$${value.toFixed(value > 0 && value < 0.01 ? 4 : 2)}`;

/** "+2 ~3 −1": files added, modified, deleted since the checkpoint before. Empty when nothing changed. */
export const counts = (files: { added: number; modified: number; deleted: number }): string =>
  [
    files.added > 0 ? `+${number(files.added)}` : '',
    files.modified > 0 ? `~${number(files.modified)}` : '',
    files.deleted > 0 ? `−${number(files.deleted)}` : '',
  ]
    .filter((part) => part !== '')
    .join(' ');

/** The same for a row. The end of a turn stands for all of it, of which only the number of files is known at once. */
export const rowCounts = ({ files }: Pick<Checkpoint, 'files'>, end: TurnEnd | undefined): string =>
  end === undefined || end.atOnce ? counts(files) : plural(end.changed, 'file');

export const countsInWords = (files: { added: number; modified: number; deleted: number }): string => {
  const parts = [
    files.added > 0 ? `${number(files.added)} added` : '',
    files.modified > 0 ? `${number(files.modified)} modified` : '',
    files.deleted > 0 ? `${number(files.deleted)} deleted` : '',
  ].filter((part) => part !== '');
  return parts.length === 0 ? 'no changes' : parts.join(', ');
};

/** "+12 −3" lines of one file. */
export const lineCounts = (change: Change): string => {
  if (change.damaged) return 'damaged in the store';
  if (change.leftOut) return 'left out';
  if (change.binary) return 'binary';
  const parts = [
    change.additions > 0 ? `+${number(change.additions)}` : '',
    change.deletions > 0 ? `−${number(change.deletions)}` : '',
  ];
  return parts.filter((part) => part !== '').join(' ');
};

/** How it came to be. */
export const madeBy = ({ trigger, origin }: Pick<Checkpoint, 'trigger' | 'origin'>): string =>
  triggerLabel(trigger, origin === null ? undefined : `${origin.user}@${origin.machine}`);

/** Empty for what was made here. */
export const originText = ({ origin }: Pick<Checkpoint, 'origin'>): string =>
  origin === null ? '' : `from ${origin.user}@${origin.machine}`;

/** What a side bar of the usual width can show of a prompt beside its age, and how much longer it may be to stay whole. */
const headWidth = 22;
const wholeWidth = 24;

/** A Chinese character takes the room of two others. */
const widthOf = (character: string): number => ((character.codePointAt(0) ?? 0) >= 0x1100 ? 2 : 1);

/**
 * A prompt for a row: its first words, and the rest for behind the age. VS Code cuts a row at its end, and of a long
 * prompt in a narrow side bar that would be the age.
 */
export const headAndRest = (prompt: string): [head: string, rest: string] => {
  const characters = [...prompt];
  let [width, fits, space] = [0, 0, 0];
  characters.forEach((character, index) => {
    width += widthOf(character);
    if (width > headWidth) return;
    fits = index + 1;
    if (character === ' ') space = index;
  });
  if (width <= wholeWidth) return [prompt, ''];
  // One long word is cut anywhere.
  const at = space > fits / 3 ? space : fits;
  const part = (from: number, to?: number): string => characters.slice(from, to).join('').trim();
  return [`${part(0, at)}…`, `…${part(at)}`];
};

/** Somebody's text where VS Code draws icons for `$(name)`: it stays what it is. */
export const withoutIcons = (text: string): string => text.replace(/\$\(/g, '\\$(');

/** Somebody's text in a message: of `[text](command:…)` VS Code makes a link there that runs the command. What is put in between does not show. */
export const withoutLinks = (text: string): string => text.replace(/\]\(/g, ']\u200b(');

const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** What stands behind a label: the number that it begins with would be drawn on the other side of Arabic or Hebrew, without the words that follow it. */
export const behind = (label: string, description: string): string =>
  rightToLeft.test(label) && description !== '' ? `\u200e${description}` : description;

export const firstLine = (text: string): string => text.split(/\r?\n/, 1)[0]?.trim() ?? '';

/** Said where checkpoints are deleted; empty when none of them was fetched. */
export const fetchedStay = (count: number): string => {
  if (count === 0) return '';
  return count === 1
    ? 'One that was fetched from elsewhere stays.'
    : `${number(count)} that were fetched from elsewhere stay.`;
};

/** The moment that a side of a diff shows: a prompt's checkpoint is called after what comes behind it. */
export const momentTitle = (checkpoint: Checkpoint, length = 40): string => {
  const title = shortTitle(checkpoint, length);
  return checkpoint.trigger === 'turn' && checkpoint.name === null ? `Before “${title}”` : title;
};

/** The title of a diff of two moments, or of what a turn changed, with the working file in place of what is right. */
export const besideWorking = (title: string): string => {
  const turn = /^Changes of (“.*”)/.exec(title)?.[1];
  return turn === undefined ? title.replace(/↔.*$/, '↔ Working File)') : `Before ${turn} ↔ Working File)`;
};

/** A name for titles of diffs and dialogs: never longer than a tab can show. */
export const shortTitle = (checkpoint: Checkpoint, length = 40): string =>
  shorten(firstLine(checkpoint.title) || checkpoint.id, length);
