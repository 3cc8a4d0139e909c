import type { RestoreOptions } from './api';
import type { Activity } from './activity';
import type { ConversationPort } from './conversation';
import { CheckpointsError } from './errors';
import { isWhole } from './files-facet';
import type { History } from './history';
import type { Checkpoint, PathReason, RestoreRecord, RestoreResult, RestoreScope, SessionAnchor } from './model';
import { covering } from './plan';
import type { CaptureFacts, SnapshotStore } from './ports';
import { composeRecord } from './record';
import type { Restorer, TaskPort } from './restorer';
import { revertTurnChanges, turnAround } from './turn-revert';
import { undoStacks } from './undo';

export interface GoingBackParts {
  store: SnapshotStore;
  history: History;
  activity: Activity;
  restorer: Restorer;
  task: TaskPort | null;
  conversation: ConversationPort | null;
  now(): number;
}

/** Restore, undo, redo, revert: each with its safety checkpoint, announced when it is done. */
export class GoingBack {
  constructor(private readonly parts: GoingBackParts) {}

  restore(target: Checkpoint, scope: RestoreScope[], options: RestoreOptions): Promise<RestoreResult> {
    return this.run('restore', target, scope, options);
  }

  async undoState(): Promise<{ undo: Checkpoint | null; redo: Checkpoint | null }> {
    const all = await this.parts.history.list({ trigger: 'restore' });
    return undoStacks(all.filter((c) => c.origin === null).reverse());
  }

  async undo(options: RestoreOptions = {}): Promise<RestoreResult> {
    const { undo } = await this.undoState();
    if (!undo) throw new CheckpointsError('nothing-to-undo', 'There is no restore to undo.');
    return this.goBack('undo', undo, options);
  }

  async redo(options: RestoreOptions = {}): Promise<RestoreResult> {
    const { redo } = await this.undoState();
    if (!redo) throw new CheckpointsError('nothing-to-redo', 'There is no undo to redo.');
    return this.goBack('redo', redo, options);
  }

  private goBack(operation: 'undo' | 'redo', to: Checkpoint, options: RestoreOptions): Promise<RestoreResult> {
    // A task that was not there before the restore is not there after its undo.
    const scope = (to.restore?.scope ?? ['files']).filter(
      (s) => s !== 'conversation' && (s !== 'task' || this.parts.task),
    );
    return this.run(operation, to, scope.length > 0 ? scope : ['files'], options, to.restore?.touched ?? null);
  }

  private run(
    operation: RestoreRecord['operation'],
    target: Checkpoint,
    scope: RestoreScope[],
    options: RestoreOptions,
    only?: string[] | null,
  ): Promise<RestoreResult> {
    return this.parts.activity.during(operation, `Restoring ${target.title}`, async () => {
      const task = (await this.parts.task?.read()) ?? null;
      const session = await this.sessionNow(target);
      const result = await this.parts.restorer.run({
        operation,
        target,
        scope,
        options,
        only,
        compose: (facts) => this.safetyRecord(operation, target, facts, { task, session }),
      });
      this.parts.activity.announce('restored', [target.id, ...(result.undo ? [result.undo] : [])]);
      return result;
    });
  }

  private safetyRecord(
    operation: RestoreRecord['operation'],
    target: Checkpoint,
    facts: CaptureFacts,
    now: Pick<Checkpoint, 'task' | 'session'>,
  ): Checkpoint {
    const announced = { operation, target: target.id } as const;
    return composeRecord({ trigger: 'restore', ...now, announced, targetTitle: target.title }, facts, this.parts.now());
  }

  /** A safety checkpoint holds all of the conversation there is; without a server, all that any checkpoint of it knows. */
  private async sessionNow({ session, origin }: Checkpoint): Promise<SessionAnchor | null> {
    if (session === null || origin !== null) return session;
    const asked = await this.parts.conversation?.anchorNow(session.id);
    if (asked) return asked;
    const known = (await this.parts.history.list({ session: session.id })).flatMap((one) =>
      one.origin === null && one.session !== null ? [one.session] : [],
    );
    return known.reduce((most, one) => (one.messageCount > most.messageCount ? one : most), session);
  }

  async revertTurn(reference: string, options: RestoreOptions = {}): Promise<RestoreResult> {
    const target = await this.parts.history.resolve(reference);
    const turn = turnAround(
      target,
      (await this.parts.history.list()).filter((c) => c.origin === null && isWhole(c)).reverse(),
    );
    return this.parts.activity.during('revert-turn', `Reverting ${target.title}`, async () => {
      let conflicts: PathReason[] = [];
      const task = (await this.parts.task?.read()) ?? null;
      const session = await this.sessionNow(turn.before);
      const result = await this.parts.restorer.run({
        operation: 'revert-turn',
        target: turn.before,
        scope: ['files'],
        options,
        changes: (facts) => revertTurnChanges(this.parts.store, turn, facts, (conflicts = [])),
        compose: (facts) => this.safetyRecord('revert-turn', turn.before, facts, { task, session }),
      });
      this.parts.activity.announce('restored', [target.id, ...(result.undo ? [result.undo] : [])]);
      return { ...result, conflicts: conflicts.filter(({ path }) => covering(options.paths)(path)) };
    });
  }
}
