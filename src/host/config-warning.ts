import { join } from 'node:path';
import * as vscode from 'vscode';
import type { ConfigProblem } from '../core/config';
import { section } from './ids';
import type { Root } from './root';
import type { Workspaces } from './workspaces';

/** A problem as people know its place: what VS Code handed on is one of its settings, whatever file that went through. */
export const problemWords = ({ source, message }: ConfigProblem, folder: string): string =>
  source === join(folder, 'config.json')
    ? message.replace(`${source}: bad value for "`, `The setting "${section}.`).replace('", which takes', '" takes')
    : message;

/** A setting that is not taken is said once, and again when something else is wrong: what it was meant to do does not happen. */
export class ConfigWarning {
  private told = '';

  constructor(
    private readonly workspaces: Pick<Workspaces, 'current'>,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  async look(): Promise<void> {
    const found = this.workspaces.current.flatMap((root) =>
      root.api.configProblems().map((problem) => ({ root, problem, words: problemWords(problem, root.api.folder) })),
    );
    const [first] = found;
    const all = [...new Set(found.map(({ words }) => words))];
    const before = this.told;
    this.told = all.join('\n');
    if (first === undefined || before === this.told) return;
    for (const words of all) this.log.warn(`settings: ${words}`);
    const open = isOwn(first.root, first.problem) ? 'Open Settings' : 'Open File';
    const answer = await vscode.window.showWarningMessage(
      `${all.join(' ')} ${all.length === 1 ? 'It does not count until it is corrected.' : 'They do not count until they are corrected.'}`,
      open,
    );
    if (answer !== open) return;
    if (open === 'Open File')
      await vscode.commands.executeCommand('vscode.open', vscode.Uri.file(first.problem.source));
    else await vscode.commands.executeCommand('workbench.action.openSettings', `${section}.${first.problem.key}`);
  }
}

const isOwn = ({ api }: Root, { source }: ConfigProblem): boolean =>
  source === join(api.folder, 'config.json') || source === 'environment';
