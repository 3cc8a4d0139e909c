import * as vscode from 'vscode';
import { agreedTo, type Agreed } from '../core/agreed';
import type { PlanOptions, RestoreOptions } from '../core/api';
import type { Checkpoint, RestorePlan, RestoreScope } from '../core/model';
import { covering } from '../core/plan';
import type { Target } from './diff';
import { shortTitle } from './labels';
import { showError } from './notifications';
import type { ShowPage } from './pages';
import { withPatience } from './progress';
import { runRestore } from './restore-run';
import { chooseScope, firstScope } from './restore-scope';
import { countPlan, deletesAny, isEmptyPlan, nothingText, onlyForks, planText } from './restore-text';
import type { Root } from './root';
import { sinceOf } from './since';
import { requireTrust } from './trust';
import { settleUnsaved } from './unsaved';

/** Lets the user tick single files; undefined when they gave up. */
export interface FileChooser {
  choose(target: Target, plan: RestorePlan, scope: readonly RestoreScope[]): Promise<string[] | undefined>;
  /** Gives up a choice that is still open. */
  cancel(): Promise<void>;
}

interface Confirmed {
  options: PlanOptions;
  scope: readonly RestoreScope[];
  /** The paths that will be written or deleted. */
  touched: string[];
  /** What was shown of them; undefined where nothing was. */
  agreed?: Agreed;
}

const restoreButton = 'Restore';
const forkButton = 'Fork Session';
const keepMineButton = 'Restore, Keep My Edits';
const chooseButton = 'Choose…';

const looking = (work: () => Promise<RestorePlan>): Promise<RestorePlan> =>
  withPatience('Looking at what would change', work);

/** From "restore this" to one honest message about what was done. */
export class RestoreFlow {
  constructor(
    private readonly chooser: FileChooser,
    readonly log: vscode.LogOutputChannel,
    readonly show: ShowPage,
  ) {}

  /** Asks, restores, reports. Answers false when the user stopped, here and in all that follow. */
  async restore(target: Target, given: PlanOptions = {}): Promise<boolean> {
    requireTrust();
    const preset = { ...given, scope: given.scope ?? firstScope(target.checkpoint) };
    // An older plan that is still open must not be taken for this one.
    await this.chooser.cancel();
    const confirmed = await this.confirm(target, preset);
    if (confirmed === undefined) return false;
    const { root, checkpoint } = target;
    const options = await unsaved(root, confirmed);
    if (options === undefined) return false;
    return runRestore(
      {
        root,
        ...(isFork(options)
          ? { title: `Forking at “${shortTitle(checkpoint)}”`, done: 'Forked' as const }
          : { title: `Restoring “${shortTitle(checkpoint)}”`, done: 'Restored' as const }),
        target: checkpoint,
        options,
        operation: (all) => root.api.restore(checkpoint.id, all),
      },
      this,
    );
  }

  /**
   * Files or folders by name, without the dialog: it was these that were asked for, and it can be undone. Only that a
   * file will go is not what everybody expects of it.
   */
  async restorePaths(target: Target, paths: string[]): Promise<boolean> {
    requireTrust();
    const { root, checkpoint } = target;
    const options: PlanOptions = { scope: ['files'], paths };
    const plan = await looking(() => root.api.plan(checkpoint.id, options));
    if (isEmptyPlan(plan)) {
      await this.nothingToDo(target, plan, paths);
      return false;
    }
    if (deletesAny(plan)) {
      const message = `${doing(plan, checkpoint, paths)} “${shortTitle(checkpoint, 60)}”?`;
      const asked = { modal: true, detail: planText(plan, checkpoint.origin !== null) };
      if ((await vscode.window.showWarningMessage(message, asked, restoreButton)) === undefined) return false;
    }
    const settled = await unsaved(root, {
      options,
      scope: plan.scope,
      touched: touchedBy(plan),
      agreed: agreedTo(plan),
    });
    if (settled === undefined) return false;
    const title = `Restoring from “${shortTitle(checkpoint)}”`;
    const operation = (all: RestoreOptions) => root.api.restore(checkpoint.id, all);
    return runRestore({ root, title, done: 'Restored', options: settled, operation }, this);
  }

  /** Whoever restores a file below the moment that changed it, and gets nothing, may have meant to take that change back. */
  private async nothingToDo(target: Target, plan: RestorePlan, paths: readonly string[] = []): Promise<void> {
    const { root, checkpoint } = target;
    const { before, wholeTurn } = await sinceOf(target);
    const { changes } =
      plan.entries.length > 0 || paths.length === 0 || before === undefined
        ? { changes: [] }
        : await root.api.diff(before.id, checkpoint.id, { paths: [...paths] });
    if (before === undefined || changes.length === 0) return sayNothingDone(plan);
    const takeBack = wholeTurn ? 'Restore from Before the Turn' : 'Restore from Checkpoint Before';
    const both = [...new Set([...paths, ...changes.flatMap(({ from }) => from ?? [])])];
    const offer = async (): Promise<void> => {
      if ((await vscode.window.showInformationMessage(nothingText(plan), takeBack)) === takeBack)
        await this.restorePaths({ root, checkpoint: before }, both);
    };
    // The message may stay for long; nobody waits for it.
    void offer().catch((error: unknown) => showError(error, this.log));
  }

  async undo(root: Root): Promise<boolean> {
    requireTrust();
    const options = await this.settle(root, () => root.api.planUndo());
    if (options === undefined) return false;
    const operation = (all: RestoreOptions) => root.api.undo(all);
    return runRestore({ root, title: 'Undoing the last restore', done: 'Undone', options, operation }, this);
  }

  async redo(root: Root): Promise<boolean> {
    requireTrust();
    const options = await this.settle(root, () => root.api.planRedo());
    if (options === undefined) return false;
    const operation = (all: RestoreOptions) => root.api.redo(all);
    return runRestore({ root, title: 'Redoing the restore', done: 'Redone', options, operation }, this);
  }

  async revertTurn({ root, checkpoint }: Target): Promise<boolean> {
    requireTrust();
    const prompt = shortTitle({ ...checkpoint, title: checkpoint.turn?.prompt ?? checkpoint.title }, 80);
    const answer = await vscode.window.showWarningMessage(
      'Undo what this turn changed?',
      {
        modal: true,
        detail: [
          `“${prompt}”`,
          '',
          'What came after it stays. A file that was changed in the same places later is left as it is, and named.',
          '',
          'A safety checkpoint is made first: you can undo this.',
        ].join('\n'),
      },
      'Revert Turn',
    );
    if (answer === undefined) return false;
    const options = await this.settle(root, () => root.api.planRevertTurn(checkpoint.id));
    if (options === undefined) return false;
    const operation = (all: RestoreOptions) => root.api.revertTurn(checkpoint.id, all);
    return runRestore({ root, title: 'Reverting the turn', done: 'Reverted', options, operation }, this);
  }

  /** Undo and its like need no dialog of their own, but unsaved editors are asked about all the same. */
  private async settle(root: Root, look: () => Promise<RestorePlan>): Promise<RestoreOptions | undefined> {
    const plan = await looking(look);
    return unsaved(root, { options: {}, scope: plan.scope, touched: touchedBy(plan) });
  }

  /** The dialog: counts first; "Choose…" for facets and single files, then the counts again. */
  private async confirm(target: Target, first: PlanOptions): Promise<Confirmed | undefined> {
    const { root, checkpoint } = target;
    let options = first;
    for (;;) {
      const plan = await looking(() => root.api.plan(checkpoint.id, options));
      const { yours, unsure, write, delete: deleted, keep } = countPlan(plan);
      const mine = yours + unsure;
      const empty = isEmptyPlan(plan);
      const files = keep > 0 || write + deleted > 1;
      const choosable = checkpoint.session !== null || checkpoint.task !== null || files;
      const onlyPaths = first.paths !== undefined && options.scope?.every((facet) => facet === 'files') === true;
      if (empty && (onlyPaths || !choosable)) {
        await this.nothingToDo(target, plan, first.paths);
        return undefined;
      }
      const confirmButton = onlyForks(plan) ? forkButton : restoreButton;
      const known = plan.conversation?.unfinished === true ? unfinished : '';
      const answer = await vscode.window.showWarningMessage(
        `${doing(plan, checkpoint, options.paths)} “${shortTitle(checkpoint, 60)}”?`,
        { modal: true, detail: `${planText(plan, checkpoint.origin !== null)}${known}` },
        ...(empty ? [] : [confirmButton]),
        ...(mine > 0 && mine < write + deleted ? [keepMineButton] : []),
        ...(choosable ? [chooseButton] : []),
      );
      if (answer === confirmButton)
        return { options, scope: plan.scope, touched: touchedBy(plan), agreed: agreedTo(plan) };
      if (answer === keepMineButton)
        return {
          // By name: when the agent is stopped for the restore, who changed what may look different.
          options: { ...options, keep: touchedBy(plan, isMine) },
          scope: plan.scope,
          touched: touchedBy(plan, (entry) => !isMine(entry)),
          agreed: agreedTo(plan),
        };
      if (answer !== chooseButton) return undefined;
      const scope = await chooseScope(checkpoint, options.scope ?? ['files']);
      if (scope === undefined) return undefined;
      if (!scope.includes('files')) {
        options = { scope };
        continue;
      }
      const all = await looking(() => root.api.plan(checkpoint.id, { scope: ['files'], paths: first.paths }));
      if (all.entries.every(({ action }) => action === 'skip')) {
        // Nothing to tick: an empty list would be a riddle. Empty folders come and go as they are.
        const others = all.folders ? scope : withoutFiles(scope);
        if (others.length === 0) {
          sayNothingDone(all);
          return undefined;
        }
        options = { scope: others };
        continue;
      }
      const paths = await this.chooser.choose(target, all, scope);
      // The user has just looked at each file: asking once more would be nagging.
      return paths === undefined ? undefined : ticked(scope, all, paths.filter(covering(first.paths)));
    }
  }
}

/** Without a tick no file is restored, only what else was asked for. */
const ticked = (scope: RestoreScope[], plan: RestorePlan, paths: string[]): Confirmed | undefined => {
  if (paths.length > 0) return { options: { scope, paths }, scope, touched: paths, agreed: agreedTo(plan, paths) };
  const others = withoutFiles(scope);
  if (others.length > 0) return { options: { scope: others }, scope: others, touched: [] };
  vscode.window.showInformationMessage('Nothing is ticked: no file was restored.');
  return undefined;
};

const withoutFiles = (scope: readonly RestoreScope[]): RestoreScope[] => scope.filter((facet) => facet !== 'files');

/** What is left although it differs is worth more than a note. */
const sayNothingDone = (plan: RestorePlan): void => {
  if (plan.entries.length > 0) vscode.window.showWarningMessage(nothingText(plan));
  else vscode.window.showInformationMessage(nothingText(plan));
};

/** A prompt's checkpoint is titled after the prompt and lies before it: "Restore “Rename it”?" would be read as the opposite. */
const doing = (plan: RestorePlan, { trigger }: Checkpoint, paths: readonly string[] = []): string => {
  if (onlyForks(plan)) return 'Fork the session at';
  const [path, renamed] = paths;
  const when = trigger === 'turn' ? 'before' : 'at';
  if (path !== undefined && paths.length === 1) return `Restore ${path} as it was ${when}`;
  if (path !== undefined && paths.length === 2) return `Restore ${path} and ${renamed} as they were ${when}`;
  return trigger === 'turn' ? 'Go back to before' : 'Restore';
};

const isFork = ({ scope }: PlanOptions): boolean => scope?.length === 1 && scope[0] === 'conversation';

/** Two servers can share a database, and neither knows what the other does; what can be seen is said. */
const unfinished =
  '\n\nThe last answer of this session is not finished: another OpenCode may be writing it, or one stopped half way. It is left out.';

const isMine = ({ yours, unsure }: RestorePlan['entries'][number]): boolean => yours === true || unsure === true;

const touchedBy = (
  plan: RestorePlan,
  also: (entry: RestorePlan['entries'][number]) => boolean = () => true,
): string[] =>
  plan.entries
    .filter((entry) => (entry.action === 'write' || entry.action === 'delete') && also(entry))
    .map((entry) => entry.path);

/** The options with the files of unsaved editors settled; undefined when the user stopped. */
const unsaved = async (
  root: Root,
  { options, scope, touched, agreed }: Confirmed,
): Promise<RestoreOptions | undefined> => {
  const answer = await settleUnsaved(root, new Set(touched));
  if (!answer.go) return undefined;
  const saved = answer.saved.map((path) => [path, undefined] as const);
  const shown = agreed === undefined ? options : { ...options, agreed: new Map([...agreed, ...saved]) };
  if (answer.keepOut.length === 0) return shown;
  // By name, which every operation heeds: undo, redo and the revert of a turn have their own paths.
  const kept = { ...shown, keep: [...(options.keep ?? []), ...answer.keepOut] };
  if (touched.some((path) => !answer.keepOut.includes(path))) return kept;
  const others = withoutFiles(scope);
  if (others.length > 0) return { ...kept, scope: others };
  vscode.window.showInformationMessage('Nothing was restored: all files in question have unsaved changes.');
  return undefined;
};
