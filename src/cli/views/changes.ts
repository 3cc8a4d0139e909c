import { changeLetters } from '../../core/change-letters';
import type { Change } from '../../core/model';
import { wellFormed } from '../../core/text';
import { encodePath } from '../../git/path-bytes';
import type { Output } from '../output';
import type { Style } from '../style';
import { visible } from '../visible';

export async function changeTable(changes: Change[], output: Output): Promise<string> {
  const { table } = await import('../table');
  if (changes.length === 0) return 'No changes.\n';
  const { style } = output;
  const counted = changes.filter((change) => !change.leftOut);
  const additions = counted.reduce((sum, change) => sum + change.additions, 0);
  const deletions = counted.reduce((sum, change) => sum + change.deletions, 0);
  const rows = table(
    [
      { header: '', style: style.yellow },
      { header: 'LINES', align: 'right' },
      // Never cut: a path is there to be copied.
      { header: 'PATH' },
    ],
    changes.map((change) => [
      changeLetters[change.status],
      lines(change),
      change.from === undefined ? change.path : `${change.from} -> ${change.path}`,
    ]),
    { header: style.bold },
  );
  const damaged = changes.filter((change) => change.damaged).length;
  const lost =
    damaged > 0
      ? `${style.yellow(`${damaged} not compared`)}: the store has lost the content, before or after. \`opencode-checkpoints doctor\` tells more.\n`
      : '';
  const leftOut = changes.length - counted.length;
  const there =
    leftOut > 0 ? `${style.yellow(`${leftOut} left out`)}: still there, and excluded or too large since.\n` : '';
  return `${rows}${changes.length} ${changes.length === 1 ? 'file' : 'files'}, ${style.green(`+${additions}`)} ${style.red(`-${deletions}`)}\n${lost}${there}`;
}

function lines({ damaged, leftOut, binary, additions, deletions }: Change): string {
  if (damaged) return 'damaged';
  if (leftOut) return 'left out';
  return binary ? 'binary' : `+${additions} -${deletions}`;
}

/** A patch is a program's input as long as nobody looks at it: then it has the files' own bytes, whatever their encoding. */
export function paintPatch(patch: string, style: Style, isTerminal: boolean): string | Uint8Array {
  if (!isTerminal) return encodePath(patch);
  return wellFormed(patch)
    .split('\n')
    .map((line) => paintLine(visible(line.replaceAll('\t', '    ')), style))
    .join('\n');
}

function paintLine(line: string, style: Style): string {
  if (/^(diff |index |--- |\+\+\+ |old mode|new mode|similarity|rename |deleted file|new file)/.test(line))
    return style.bold(line);
  if (line.startsWith('@@')) return style.cyan(line);
  if (line.startsWith('+')) return style.green(line);
  if (line.startsWith('-')) return style.red(line);
  return line;
}
