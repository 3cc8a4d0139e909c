import type { WorkspaceApi } from '../../core/api';
import { lossInWords } from '../../core/lost';
import type { Invocation } from '../command';

/** Beside a list that is not what it should be: what is missing in it, and the way out. */
export function tellLost({ globals, output }: Pick<Invocation, 'globals' | 'output'>, workspace: WorkspaceApi): void {
  const lost = workspace.lost();
  const words = lossInWords(lost);
  if (words === null) return;
  if (globals.json) output.alsoTell({ lost });
  const wayOut =
    lost.refs.length > 0
      ? '`opencode-checkpoints doctor --repair` brings back what can be brought back, `delete ID` gives one up.'
      : '`opencode-checkpoints doctor` tells more; the others are whole.';
  if (!globals.json) output.note(`${output.errorStyle.yellow('warning:')} ${words} ${wayOut}`);
}
