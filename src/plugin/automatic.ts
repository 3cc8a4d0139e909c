import { isAbsolute } from 'node:path';
import type { CreateOptions } from '../core/api';
import { defaults } from '../core/config';
import type { Trigger, TurnInfo } from '../core/model';
import { absolutePaths, callPolicy, isWanted } from '../core/triggers';
import { normalisePaths } from '../git/capture';
import type { Companion } from './companion';
import type { Lane, Reporter } from './reporter';
import { SameFile } from './same-file';
import { forgetOldest, turnOfPrompt, type Moment, type Prompt, type SessionTracker, type Unplaced } from './tracker';

export interface PendingCall {
  session: string;
  tool: string;
  callId: string;
  /** The step it belongs to, where OpenCode tells. */
  messageId: string | null;
  input: unknown;
}

/**
 * The automatic checkpoints, as the table in the read me has them. Nothing in here throws into OpenCode, and nobody waits longer than `captureBudget`: a capture that
 * takes longer goes on by itself, is marked as late, and is told.
 */
export class AutomaticPoints {
  private tail: Promise<unknown> = Promise.resolve();
  /** Calls under way that may change files they do not name, and the session of each. */
  private readonly loose = new Map<string, string>();
  private readonly sameFile = new SameFile();
  /** Such a call has run since the last scan, or may have before we were loaded: the fast lane would not see what it did. */
  private blind = true;
  /** By the session a person speaks to. */
  private readonly namedOutside = new Map<string, Set<string>>();
  /** The last prompt of each session, for points whose place in the conversation is not known. */
  private readonly prompts = new Map<string, TurnInfo>();
  /** Sessions whose turn has begun and not ended. */
  private readonly atWork = new Set<string>();

  constructor(
    private readonly companion: Companion,
    private readonly sessions: SessionTracker,
    private readonly reporter: Reporter,
  ) {}

  /** A prompt arrived; the agent has not begun. */
  turn(session: string, prompt: Prompt): Promise<void> {
    // A prompt may be sent to a session whose calls still run.
    const atWork = this.atWork.has(session);
    if (!atWork) this.forgetCalls(session);
    this.namedOutside.delete(session);
    this.atWork.add(session);
    this.prompts.set(session, turnOfPrompt(prompt));
    forgetOldest(this.prompts, 200);
    return this.within('turn', async (metadata) => {
      const moment = await this.place(session, metadata, () => this.sessions.beginTurn(session, prompt, atWork));
      await this.scan({ ...moment, trigger: 'turn', metadata });
    });
  }

  beforeCall(call: PendingCall): Promise<void> {
    const policy = callPolicy(call.tool, call.input);
    if (policy.kind === 'none') return Promise.resolve();
    const paths = policy.kind === 'paths' ? absolutePaths(policy.paths, this.companion.directory) : [];
    const key = callKey(call.session, call.callId);
    const others = this.sameFile.begin(key, call.session, paths);
    const capture = async (metadata: Record<string, unknown>): Promise<void> => {
      const moment = await this.place(call.session, metadata, () =>
        this.sessions.beforeCall(call.session, call.callId, call.messageId),
      );
      const point = { ...moment, trigger: 'tool' as const, metadata };
      if (policy.kind === 'scan') {
        try {
          await this.scan({ ...point, cause: { tool: call.tool, callId: call.callId, paths: [] } });
        } finally {
          // It runs whether the scan succeeded or not.
          this.loose.set(key, call.session);
          this.blind = true;
        }
        return;
      }
      const { workspace, upkeep } = await this.companion.open();
      const cause = { tool: call.tool, callId: call.callId, paths: named(workspace.root, paths) };
      if (this.blind) await this.scan({ ...point, cause });
      // A path outside changes no tree, but shall be named: so the point is made although nothing changed, once a turn.
      const owner = moment.session?.id ?? call.session;
      const before = this.namedOutside.get(owner) ?? new Set();
      const outside = cause.paths.filter((path) => isAbsolute(path) && !before.has(path));
      if (outside.length > 0) this.namedOutside.set(owner, new Set([...before, ...outside]));
      await workspace.create({ ...point, cause, paths, automatic: outside.length === 0 });
      this.reporter.storeWorks('paths');
      upkeep.touch();
    };
    return this.within('tool', capture, { others, lane: policy.kind });
  }

  afterCall(session: string, callId: string): void {
    const key = callKey(session, callId);
    this.loose.delete(key);
    this.sameFile.end(key);
  }

  /** Calls that were interrupted never say that they ended. Those of other sessions, sub-agents' among them, go on. */
  private forgetCalls(session: string): void {
    for (const [call, owner] of this.loose) if (owner === session) this.loose.delete(call);
    this.sameFile.endAll(session);
  }

  /** The turn ended. */
  idle(session: string): Promise<void> {
    this.forgetCalls(session);
    this.atWork.delete(session);
    return this.within('idle', async (metadata) => {
      if ((await this.sessions.rootOf(session)) !== session) return;
      const moment = await this.place(session, metadata, () => this.sessions.whenIdle(session));
      await this.scan({ ...moment, trigger: 'idle', metadata });
    });
  }

  /** The sessions whose turn is under way at this moment. */
  working(): ReadonlySet<string> {
    return new Set(this.atWork);
  }

  /** Something else that captures: after what came before it, and what comes next waits for it, within the budget. */
  async inOrder(work: () => Promise<void>): Promise<void> {
    const { captureBudget } = await this.companion.config();
    await this.queue(captureBudget, work);
  }

  /** `opencode run` ends right after its turn: what has begun by then is finished, within the budget. */
  async settle(): Promise<void> {
    await orAfter(this.tail, defaults.captureBudget);
  }

  private queue(budget: number, work: () => Promise<void>): Promise<void> {
    const run = orAfter(this.tail, budget).then(work);
    this.tail = run.catch(() => undefined);
    return run;
  }

  /** Nobody's files are left unsaved because OpenCode does not tell where in the conversation they belong. */
  async place(
    session: string,
    metadata: Record<string, unknown>,
    find: () => Promise<Moment>,
  ): Promise<Moment | Unplaced> {
    try {
      const moment = await find();
      if (moment.session.id !== session) metadata['subagent'] = session;
      return moment;
    } catch (error) {
      metadata['session'] = session;
      this.reporter.failed('The place in the conversation is not known', error);
      return { session: null, turn: this.prompts.get(session) ?? null };
    }
  }

  private async scan(options: CreateOptions): Promise<void> {
    const { workspace, upkeep } = await this.companion.open();
    const underWay = this.loose.size > 0;
    await workspace.create({ ...options, automatic: true });
    this.reporter.storeWorks('scan');
    upkeep.touch();
    if (!underWay) this.blind = false;
  }

  /**
   * One after the other, within the budget, whatever happens. `others` are waited for first, but for no more than half of it: one of them may wait for
   * the user.
   */
  private async within(
    trigger: Trigger,
    work: (metadata: Record<string, unknown>) => Promise<void>,
    { others = null, lane = 'scan' }: { others?: Promise<unknown> | null; lane?: Lane } = {},
  ): Promise<void> {
    const what = `The checkpoint before ${trigger === 'idle' ? 'the next turn' : `the ${trigger}`} was not made`;
    try {
      // Read when the record is written: a capture that is still reading when the agent goes on may hold later content.
      const metadata: Record<string, unknown> = {};
      const begun = Date.now();
      const config = this.companion.config();
      const run = config.then(async ({ automatic, captureBudget }) => {
        if (!isWanted(automatic, trigger)) return;
        if (others) await orAfter(others, captureBudget / 2);
        await this.queue(captureBudget, () => work(metadata));
      });
      // Where the workspace is git has to say, and a git that hangs says nothing: that is within a budget, too.
      const read = config.catch(() => defaults);
      const isRead = (await orAfter(read, defaults.captureBudget)) === 'done';
      const { captureBudget } = isRead ? await read : defaults;
      if ((await orAfter(run, begun + captureBudget - Date.now())) === 'done') {
        this.reporter.recovered(`${what}/${lane}`);
        return;
      }
      metadata['late'] = true;
      this.reporter.problem(
        `${what}/${lane}/late`,
        `A checkpoint took longer than ${captureBudget} ms; the agent went on, and it is being finished in the background.`,
      );
      run.catch((error: unknown) => this.reporter.failed(what, error, lane));
    } catch (error) {
      this.reporter.failed(what, error, lane);
    }
  }
}

/** Models that number their calls (`functions.bash:0`) do so in each session. */
const callKey = (session: string, callId: string): string => `${session}/${callId}`;

/** Waits for the work, but no longer than that. It goes on; who is late for its failure has to look after it. */
export async function orAfter(work: Promise<unknown>, ms: number): Promise<'done' | 'late'> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((next) => (timer = setTimeout(() => next('late'), ms)));
  try {
    return await Promise.race([work.then(() => 'done' as const), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** As records name files: relative to the root and without links on the way, so as their snapshots have them; whole when it lies outside. */
function named(root: string, paths: readonly string[]): string[] {
  const all = paths.flatMap((path) => {
    const { inside, outside } = normalisePaths(root, [path]);
    return [...inside, ...outside.map((one) => one.path)];
  });
  return [...new Set(all)];
}
