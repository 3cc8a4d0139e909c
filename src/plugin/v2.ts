import { isNote } from '../core/sessions';
import { V2Events } from '../opencode/v2-events';
import { AutomaticPoints } from './automatic';
import { PluginBackup } from './backup';
import { slashCommands } from './commands';
import { Companion, offeredTools } from './companion';
import { toldOf } from './copies';
import { TaskMemory } from './memory';
import { Reporter, type Voice } from './reporter';
import { askedFor, type ToolSpec } from './tool-spec';
import { callTool, toolsFor } from './tools';
import { forgetOldest, SessionTracker, type Prompt } from './tracker';
import type { V2Context, V2Event, V2Tool } from './v2-context';
import { V2History } from './v2-history';
import { V2Host } from './v2-host';

/** Returns what is to be called when OpenCode drops or reloads the plugin. */
export async function v2Setup(context: V2Context): Promise<() => Promise<void>> {
  const { directory } = context.location;
  const host = new V2Host(context);
  // OpenCode 2 has no place for notices of plugins but its log; `checkpoint_stats` tells them, too.
  const voice: Voice = {
    log: (level, message) => void process.stderr.write(`opencode-checkpoints ${level}: ${message}\n`),
    show: () => undefined,
  };
  const reporter = new Reporter(voice, toldOf(directory));
  const companion = new Companion(directory, () => host.gateway(), reporter);
  const history = new V2History(context, host);
  const sessions = new SessionTracker(history);
  const points = new AutomaticPoints(companion, sessions, reporter);
  const memory = new TaskMemory(companion, sessions, points, reporter);
  const prompts = new Prompts(sessions, points, memory, reporter);
  const places = new SessionPlaces(directory, host, reporter);

  await context.session.hook('prompt', async ({ sessionID, messageID, prompt }) => {
    if (isNote(prompt)) return;
    try {
      // A sub-agent's prompt is not a person's.
      if ((await sessions.rootOf(sessionID)) !== sessionID) return;
    } catch (error) {
      reporter.failed('The session of a prompt is not known', error);
    }
    await prompts.arrived(sessionID, { id: messageID, text: prompt.text, model: null, agent: null });
  });
  await context.session.hook('context', ({ sessionID }) => prompts.beforeStep(sessionID));
  await context.tool.hook('execute.before', ({ tool, sessionID, messageID, id, input }) =>
    points.beforeCall({ session: sessionID, tool, callId: id, messageId: messageID, input }),
  );
  await context.tool.hook('execute.after', ({ sessionID, id }) => {
    points.afterCall(sessionID, id);
    return Promise.resolve();
  });
  await context.session.hook('compaction', async (event) => {
    try {
      await history.compacting(event.sessionID);
    } catch (error) {
      reporter.failed('What comes before the compaction is not known', error);
    }
    const text = await memory.contextFor(event.sessionID);
    if (text !== null) event.system.push({ type: 'text', text });
  });
  const backup = new PluginBackup(companion, reporter);
  const toBackup = new V2Events();
  const tools = toolsFor(offeredTools(directory, reporter), { companion, sessions, memory, reporter, backup });
  await context.tool.transform((draft) => {
    for (const tool of tools) draft.add(asV2Tool(tool, host));
  });
  await context.permission?.hook('evaluate', (event) => {
    if (askedFor.some((permission) => permission === event.action) && event.effect === 'allow') event.effect = 'ask';
    return Promise.resolve();
  });
  await addCommands(context, tools);

  const events = context.event.subscribe()[Symbol.asyncIterator]();
  void followEvents(events, (event) => {
    follow(event, sessions, prompts);
    // The backup is of all folders' sessions.
    backup.noticed(toBackup.map(event));
    if (event.type === 'permission.replied') host.replied(event);
    const session = event.data?.sessionID;
    if (session === undefined) return;
    places.saw(session, event);
    if (event.type.startsWith('session.revert.')) history.forget(session);
    if (/^session\.execution\.(succeeded|failed|interrupted)$/.test(event.type))
      places.ifHere(session, () => void points.idle(session));
    if (event.type === 'session.compaction.ended') places.ifHere(session, () => void memory.compacted(session));
  }).catch((error: unknown) => reporter.failed('Events cannot be followed', error));

  backup.start();

  return async () => {
    await events.return?.();
    await points.settle();
    await backup.close();
    await companion.close();
  };
}

/** Every folder's plugin is told of all folders' sessions: it acts for those that work in its own. */
class SessionPlaces {
  private readonly directories = new Map<string, string>();

  constructor(
    private readonly directory: string,
    private readonly host: V2Host,
    private readonly reporter: Reporter,
  ) {}

  saw(session: string, { type, location }: V2Event): void {
    // Whether that names the old folder or the new one: asked at the next need.
    if (type === 'session.moved') this.directories.delete(session);
    else if (location !== undefined) this.directories.set(session, location.directory);
    forgetOldest(this.directories, 1000);
  }

  /** At once where it is known, so that the next prompt does not overtake it. */
  ifHere(session: string, act: () => void): void {
    const known = this.directories.get(session);
    if (known === this.directory) act();
    if (known !== undefined) return;
    this.host.get(session).then(
      ({ directory }) => {
        this.directories.set(session, directory);
        if (directory === this.directory) act();
      },
      (error: unknown) => this.reporter.failed('The folder of a session is not known', error),
    );
  }
}

/** When a prompt counts as arrived: at once, or, sent to a session at work, when it is delivered to it. */
class Prompts {
  private readonly atWork = new Set<string>();
  private readonly waiting = new Map<string, Prompt[]>();

  constructor(
    private readonly sessions: SessionTracker,
    private readonly points: AutomaticPoints,
    private readonly memory: TaskMemory,
    private readonly reporter: Reporter,
  ) {}

  async arrived(session: string, prompt: Prompt): Promise<void> {
    if (this.atWork.has(session)) this.waiting.set(session, [...(this.waiting.get(session) ?? []), prompt]);
    else await this.point(session, prompt);
  }

  /** The model is about to be asked: what was delivered since is a turn from here on. */
  async beforeStep(session: string): Promise<void> {
    const waiting = this.waiting.get(session) ?? [];
    if (waiting.length === 0) return;
    const listed = await this.listed(session);
    const delivered = waiting.filter(({ id }) => this.delivered.has(id) || listed.has(id));
    this.waiting.set(
      session,
      waiting.filter((prompt) => !delivered.includes(prompt)),
    );
    for (const prompt of delivered) await this.point(session, prompt);
  }

  /** The event that tells of a delivery may come after the step has begun: what is among the messages was delivered. */
  private async listed(session: string): Promise<Set<string>> {
    try {
      return await this.sessions.messageIds(session);
    } catch (error) {
      this.reporter.failed('Whether a prompt was delivered is not known', error);
      return new Set();
    }
  }

  private readonly delivered = new Set<string>();

  /** Whether it was a prompt that was delivered, rather than a notice. */
  wasDelivered(session: string, id: string): void {
    const isWaiting = this.waiting.get(session)?.some((prompt) => prompt.id === id) === true;
    if (isWaiting) this.delivered.add(id);
  }

  working(session: string, yes: boolean): void {
    if (yes) this.atWork.add(session);
    else this.atWork.delete(session);
  }

  private async point(session: string, prompt: Prompt): Promise<void> {
    this.delivered.delete(prompt.id);
    await this.points.turn(session, prompt);
    void this.memory.prompted(session, prompt);
  }
}

function follow({ type, data }: V2Event, sessions: SessionTracker, prompts: Prompts): void {
  const session = data?.sessionID;
  if (session === undefined) return;
  const step = data?.assistantMessageID;
  if (type === 'session.step.started' && step !== undefined)
    sessions.sawMessage(session, { id: step, role: 'assistant', completedAt: null });
  else if ((type === 'session.step.ended' || type === 'session.step.failed') && step !== undefined)
    sessions.sawMessage(session, { id: step, role: 'assistant', completedAt: Date.now() });
  else if (type === 'session.inbox.delivered' && data?.inboxID !== undefined) {
    prompts.wasDelivered(session, data.inboxID);
    // It may have been a notice, which does not count: read again rather than guess.
    sessions.forget(session);
  } else if (type.startsWith('session.revert.')) sessions.forget(session);
  else if (type === 'session.execution.started') prompts.working(session, true);
  else if (type.startsWith('session.execution.')) prompts.working(session, false);
}

async function followEvents(events: AsyncIterator<V2Event>, listener: (event: V2Event) => void): Promise<void> {
  for (let next = await events.next(); !next.done; next = await events.next()) listener(next.value);
}

function asV2Tool(tool: ToolSpec, host: V2Host): V2Tool {
  return {
    name: tool.name,
    description: tool.description,
    input: tool.input,
    // Not hidden behind OpenCode's code tool.
    options: { codemode: false },
    execute: async (input, call) => ({ content: [{ type: 'text', text: await answer(tool, input, call, host) }] }),
  };
}

/** An error of a plugin's tool makes OpenCode 2 fail all other calls of the step with it: so errors are answers here. */
async function answer(
  tool: ToolSpec,
  input: unknown,
  call: Parameters<V2Tool['execute']>[1],
  host: V2Host,
): Promise<string> {
  try {
    return await callTool(tool, input, {
      session: call.sessionID,
      messageId: call.messageID,
      callId: call.id,
      ask: (question) => host.ask(call, question),
      // OpenCode 2 has no way for a plugin to show a session.
      openSession: () => Promise.resolve(),
    });
  } catch (error) {
    return `Error: ${error instanceof Error ? error.message : String(error)}`;
  }
}

async function addCommands(context: V2Context, tools: readonly ToolSpec[]): Promise<void> {
  await context.command?.transform((draft) => {
    for (const { name, description, template } of slashCommands(tools))
      draft.add({
        name,
        description,
        execute: ({ sessionID, prompt, delivery }) =>
          context.session.prompt({
            ...prompt,
            sessionID,
            text: template.replaceAll('$ARGUMENTS', () => prompt.text),
            ...(delivery === undefined ? {} : { delivery }),
          }),
      });
  });
}
