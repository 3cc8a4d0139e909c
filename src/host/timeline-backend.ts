import * as vscode from 'vscode';
import { CheckpointsError } from '../core/errors';
import type { CheckpointId } from '../core/model';
import { turnEnds } from '../core/turn-ends';
import type { DetailsSource, TimelineBackend, TimelineSource } from '../protocol/connect';
import type { ActionResult, FindQuery, NoticeAction, TimelineAction } from '../protocol/timeline';
import { comparePair, comparePrevious, compareSessionStart, compareTurn, compareWorking } from './actions-compare';
import { openSessionOf, startServer } from './actions-session';
import { copyId, describe, removeTargets, rename, setPinned } from './actions-edit';
import { createCheckpoint } from './actions-create';
import { openPreviousDiff, openWorkingDiff, type Target } from './diff';
import { commands, section } from './ids';
import { explain, showError } from './notifications';
import { pathMatcher } from './path-match';
import type { Root } from './root';
import { reveal } from './search';
import type { Services } from './services';
import { changesOfTurn, changesSince, endOfTurn, sinceOf } from './since';
import { timelineNotices } from './timeline-notices';
import { sessionsOf } from './tree';
import { requireTrust } from './trust';
import { turnEndsOf } from './turn-ends-of';

/** Between two attempts to open what could not be opened: each of them makes the page ask again. */
const patience = 3000;

/** What the timeline page asks for, answered by the same parts as the tree and the palette. */
export class HostTimeline implements TimelineBackend {
  private triedAt = Date.now();

  constructor(private readonly services: Services) {}

  async timeline(workspace: string | null): Promise<TimelineSource> {
    const { workspaces } = this.services;
    const roots = await this.roots();
    const root = roots.find((candidate) => idOf(candidate) === workspace) ?? roots[0];
    const [failure] = workspaces.failures;
    // A folder is open, only its store is not: to say that there is none would send people the wrong way.
    if (root === undefined && failure !== undefined)
      throw new CheckpointsError(failure.reason, vscode.workspace.isTrusted ? explain(failure) : failure.message);
    const checkpoints = root === undefined ? [] : await root.api.list();
    return {
      workspaces: roots.map((candidate) => ({ id: idOf(candidate), name: candidate.name })),
      workspace: root === undefined ? null : idOf(root),
      checkpoints,
      ends: root === undefined ? new Map() : await turnEndsOf(root, checkpoints),
      sessions: root === undefined ? [] : this.services.states.of(root, sessionsOf(checkpoints)),
      operation: root?.api.operation ?? null,
      notices: await timelineNotices(this.services, root, checkpoints),
    };
  }

  async details(workspace: string | null, id: CheckpointId): Promise<DetailsSource> {
    const target = await this.target(workspace, id);
    const [since, end] = await Promise.all([sinceOf(target), endOfTurn(target)]);
    const { before, wholeTurn } = since;
    return {
      checkpoint: target.checkpoint,
      changes: await changesSince(target, since),
      previous: before === undefined ? null : { id: before.id, task: before.task },
      wholeTurn,
      turn:
        end === undefined
          ? null
          : { changes: (await changesOfTurn(target.root, target.checkpoint, end)).changes, end: end.id },
    };
  }

  async find(workspace: string | null, query: FindQuery): Promise<CheckpointId[]> {
    const root = await this.root(workspace);
    const found = await root.api.list(query.text === undefined ? {} : { search: query.text });
    const touches = query.file === undefined ? null : pathMatcher(query.file);
    if (touches === null) return found.map(({ id }) => id);
    // At the end of a turn those of the turn.
    const ends = turnEnds(query.text === undefined ? found : await root.api.list());
    return found.filter(({ id, files }) => (ends.get(id) ?? files).paths.some(touches)).map(({ id }) => id);
  }

  async act(workspace: string | null, action: TimelineAction): Promise<ActionResult['outcome']> {
    try {
      return (await this.perform(workspace, action)) === false ? 'cancelled' : 'done';
    } catch (error) {
      if (CheckpointsError.is(error, 'cancelled')) return 'cancelled';
      // Shown here, with its way out; the page says it to those who cannot see the message.
      void showError(error, this.services.log);
      throw error;
    }
  }

  onDidChange(listener: () => void): () => void {
    const { workspaces, watch, states } = this.services;
    const subscriptions = [
      states.onDidChange(listener),
      watch.onDidChange(listener),
      workspaces.onDidChange(listener),
      workspaces.onDidChangeOperation(listener),
      workspaces.onDidChangeRoots(listener),
    ];
    return () => vscode.Disposable.from(...subscriptions).dispose();
  }

  private async perform(workspace: string | null, action: TimelineAction): Promise<unknown> {
    const { services } = this;
    const at = (id: CheckpointId): Promise<Target> => this.target(workspace, id);
    // Buttons of the page are not greyed by VS Code's own rules.
    if (!viewing.has(action.type === 'notice' ? action.action : action.type)) requireTrust();
    switch (action.type) {
      case 'restore': {
        const { type: _type, id, ...options } = action;
        const { paths, scope = [] } = options;
        // Files by name mean the same here as everywhere else.
        if (paths !== undefined && scope.every((facet) => facet === 'files'))
          return services.flow.restorePaths(await at(id), paths);
        return services.flow.restore(await at(id), options);
      }
      case 'fork':
        return services.flow.restore(await at(action.id), { scope: ['conversation'] });
      case 'revertTurn':
        return services.flow.revertTurn(await at(action.id));
      case 'compareWorking':
        return compareWorking(services, await at(action.id));
      case 'comparePrevious':
        return comparePrevious(services, await at(action.id));
      case 'compareSessionStart':
        return compareSessionStart(services, await at(action.id));
      case 'compareTurn':
        return compareTurn(services, await at(action.id));
      case 'showInGutter':
        return services.gutter.show(await at(action.id));
      case 'compare':
        return comparePair(await at(action.from), await at(action.to));
      case 'openDiff': {
        const target = await at(action.id);
        const end = action.against === 'turn' ? await endOfTurn(target) : undefined;
        if (end !== undefined)
          return openPreviousDiff({ root: target.root, checkpoint: end }, target.checkpoint, action);
        return action.against === 'previous'
          ? openPreviousDiff(target, (await sinceOf(target)).before, action)
          : openWorkingDiff(target, action.path);
      }
      case 'openFile':
        return vscode.commands.executeCommand('vscode.open', (await this.root(workspace)).toUri(action.path));
      case 'rename':
        return (await rename(services, await at(action.id))) !== undefined;
      case 'describe':
        return (await describe(services, await at(action.id))) !== undefined;
      case 'pin':
        return setPinned(services, await at(action.id), undefined, action.pinned);
      case 'delete':
        return removeTargets(await Promise.all(action.ids.map(at)), services.log);
      case 'copyId':
        return copyId(services, await at(action.id));
      case 'create':
        return (await createCheckpoint(services, await this.root(workspace))) !== undefined;
      case 'reveal':
        return reveal(services, await at(action.id));
      case 'openFolder':
        return vscode.commands.executeCommand('vscode.openFolder');
      case 'openSession':
        return openSessionOf(await this.root(workspace), action.session);
      case 'notice':
        if (action.action === 'installPlugin') return services.plugin.install(await this.root(workspace));
        if (action.action === 'startServer') return startServer(services, await this.root(workspace));
        if (action.action === 'openSettings')
          return vscode.commands.executeCommand('workbench.action.openSettings', section);
        if (action.action === 'manageTrust') return vscode.commands.executeCommand('workbench.trust.manage');
        return vscode.commands.executeCommand(action.action === 'runDoctor' ? commands.doctor : commands.showLog);
    }
  }

  /** What could not be opened is tried again when somebody asks again: git may be there by now. */
  private async roots(): Promise<Root[]> {
    const { workspaces } = this.services;
    const roots = await workspaces.all();
    if (roots.length > 0 || workspaces.failures.length === 0 || Date.now() - this.triedAt < patience) return roots;
    this.triedAt = Date.now();
    await workspaces.update();
    return workspaces.all();
  }

  private async root(workspace: string | null): Promise<Root> {
    const roots = await this.services.workspaces.all();
    const root = workspace === null ? roots[0] : roots.find((candidate) => idOf(candidate) === workspace);
    // Not another one instead: the page shows what it asks about.
    if (root === undefined && workspace !== null)
      throw new CheckpointsError('invalid-argument', `${workspace} is not open any more.`);
    if (root === undefined)
      throw this.services.workspaces.failures[0] ?? new CheckpointsError('invalid-argument', 'No folder is open.');
    return root;
  }

  private async target(workspace: string | null, id: CheckpointId): Promise<Target> {
    const root = await this.root(workspace);
    return { root, checkpoint: await root.api.resolve(id) };
  }
}

const idOf = (root: Root): string => root.api.root;

/** What may be done in an untrusted folder, the buttons of notices among it. */
const viewing = new Set<TimelineAction['type'] | NoticeAction>([
  'compareWorking',
  'comparePrevious',
  'compareSessionStart',
  'compareTurn',
  'showInGutter',
  'compare',
  'openDiff',
  'openFile',
  'copyId',
  'reveal',
  'openFolder',
  'openSettings',
  'showLog',
  'manageTrust',
]);
