import { isNote } from '../core/sessions';
import { V1Gateway } from '../opencode/v1';
import { keepSpared } from '../opencode/plugin-install';
import { loadedMark } from '../opencode/plugin-loaded';
import { isFields, isText, listOf, shape, type Shape } from '../opencode/shapes';
import { v1Messages, type V1Message, type V1Part } from '../opencode/v1-normal';
import { V1Events } from '../opencode/v1-events';
import { AutomaticPoints } from './automatic';
import { PluginBackup } from './backup';
import { slashCommands } from './commands';
import { Companion, offeredTools } from './companion';
import { toldOf } from './copies';
import { TaskMemory } from './memory';
import { Reporter, type Voice } from './reporter';
import { askedFor, type CallContext, type Permission, type ToolSpec } from './tool-spec';
import { callTool, toolsFor } from './tools';
import { SessionTracker } from './tracker';
import { InProcessHttp, type V1Client } from './v1-client';
import { askInsteadOfAllow, rulesOf, type PermissionConfig } from './v1-permission';

/** What OpenCode 1 gives a plugin, as far as it is used. */
export interface V1Input {
  client: V1Client;
  directory: string;
  serverUrl?: URL | string;
}

interface V1ToolContext {
  sessionID: string;
  messageID: string;
  callID?: string;
  abort?: AbortSignal;
  ask?(request: {
    permission: string;
    patterns: string[];
    always: string[];
    metadata: Record<string, unknown>;
  }): Promise<unknown>;
}

interface V1Config extends PermissionConfig {
  command?: Record<string, unknown>;
}

type V1Hooks = Record<string, unknown> & { dispose(): Promise<void> };

/** `own`: the file that OpenCode has loaded. */
export function v1Hooks(input: V1Input, own: string): V1Hooks {
  // A package that our installation spared OpenCode may be needed by another plugin by now: then the next start gets it. And a
  // folder that comes while we work would make that start wait, before any plugin is loaded.
  const spare = (): void => void keepSpared(input.directory, process.env, own);
  spare();
  const http = new InProcessHttp(input.client, String(input.serverUrl ?? 'http://localhost'));
  const gateway = new V1Gateway({
    endpoint: http.endpoint,
    version: '1',
    http,
    // The plugin runs inside OpenCode's own executable.
    commandLine: () => Promise.resolve({ binary: process.execPath, env: process.env }),
  });
  const reporter = new Reporter(voiceOf(http), toldOf(input.directory));
  const companion = new Companion(input.directory, () => Promise.resolve(gateway), reporter);
  const sessions = new SessionTracker(gateway);
  const points = new AutomaticPoints(companion, sessions, reporter);
  const memory = new TaskMemory(companion, sessions, points, reporter);
  const backup = new PluginBackup(companion, reporter);
  const toBackup = new V1Events();
  const tools = toolsFor(offeredTools(input.directory, reporter), { companion, sessions, memory, reporter, backup });
  backup.start();

  return {
    config: (config: V1Config): Promise<void> => {
      addCommands(config, tools);
      for (const permission of askedFor)
        if (tools.some(({ name }) => name === permission)) askInsteadOfAllow(config, permission);
      // Tools and commands show that the plugin is there; without them only this does. No permission is called so.
      if (tools.length === 0) config.permission = { ...rulesOf(config.permission), [loadedMark]: 'allow' };
      return Promise.resolve();
    },
    'chat.message': async (
      { sessionID }: { sessionID: string },
      output: { message: V1Message['info']; parts: V1Part[] },
    ): Promise<void> => {
      const [prompt] = v1Messages([{ info: output.message, parts: output.parts }], {
        directory: input.directory,
        revertedFrom: null,
      });
      if (!prompt || prompt.synthetic || isNote(prompt)) return;
      try {
        // A sub-agent's prompt is not a person's.
        if ((await sessions.rootOf(sessionID)) !== sessionID) return;
      } catch (error) {
        reporter.failed('The session of a prompt is not known', error);
      }
      await points.turn(sessionID, prompt);
      void memory.prompted(sessionID, prompt);
    },
    'tool.execute.before': (
      { tool, sessionID, callID }: { tool: string; sessionID: string; callID: string },
      output: { args: unknown },
    ): Promise<void> =>
      points.beforeCall({ session: sessionID, tool, callId: callID, messageId: null, input: output.args }),
    'tool.execute.after': ({ sessionID, callID }: { sessionID: string; callID: string }): Promise<void> => {
      points.afterCall(sessionID, callID);
      return Promise.resolve();
    },
    'experimental.session.compacting': async (
      { sessionID }: { sessionID: string },
      output: { context: string[] },
    ): Promise<void> => {
      const context = await memory.contextFor(sessionID);
      if (context !== null) output.context.push(context);
    },
    // Without it every argument would be a required one.
    'tool.definition': ({ toolID }: { toolID: string }, output: { jsonSchema?: unknown }): Promise<void> => {
      const own = tools.find(({ name }) => name === toolID);
      if (own) output.jsonSchema = own.input;
      return Promise.resolve();
    },
    event: ({ event }: { event: V1Event }): Promise<void> => {
      follow(event, { sessions, points, memory });
      if (event.type === 'session.idle') spare();
      backup.noticed(toBackup.map({ directory: input.directory, payload: event }));
      return Promise.resolve();
    },
    tool: Object.fromEntries(tools.map((tool) => [tool.name, asV1Tool(tool, http)])),
    dispose: async (): Promise<void> => {
      await points.settle();
      await backup.close();
      await companion.close();
    },
  };
}

interface V1Event {
  type: string;
  properties?: {
    sessionID?: string;
    info?: {
      id: string;
      sessionID?: string;
      role?: 'user' | 'assistant';
      parentID?: string;
      time?: { completed?: number };
    };
    part?: V1Part;
  };
}

/** Events are only told, never waited for: what they start here looks after its own failures. */
function follow(
  event: V1Event,
  { sessions, points, memory }: { sessions: SessionTracker; points: AutomaticPoints; memory: TaskMemory },
): void {
  const { sessionID = '', info, part } = event.properties ?? {};
  switch (event.type) {
    case 'message.updated':
      if (info?.role && info.sessionID !== undefined)
        sessions.sawMessage(info.sessionID, {
          id: info.id,
          role: info.role,
          completedAt: info.time?.completed ?? null,
          parentId: info.parentID ?? null,
        });
      return;
    case 'message.part.updated':
      if (part?.type !== 'tool' || part.callID === undefined) return;
      sessions.sawCall(part.sessionID, part.callID, part.messageID);
      // A call that failed is told here alone.
      if (part.state?.status === 'error') points.afterCall(part.sessionID, part.callID);
      return;
    case 'message.removed':
      return sessions.forget(sessionID);
    case 'session.idle':
      void points.idle(sessionID);
      return;
    case 'session.compacted':
      void memory.compacted(sessionID);
  }
}

function asV1Tool(tool: ToolSpec, http: InProcessHttp): Record<string, unknown> {
  return {
    description: tool.description,
    args: tool.input.properties,
    execute: async (args: unknown, context: V1ToolContext): Promise<{ title: string; output: string }> => ({
      title: tool.name,
      output: await callTool(tool, args, callContext(context, http)),
    }),
  };
}

function callContext(context: V1ToolContext, http: InProcessHttp): CallContext {
  return {
    session: context.sessionID,
    messageId: context.messageID,
    callId: context.callID ?? '',
    ask: async ({ permission, resource, summary }): Promise<Permission> => {
      if (!context.ask) return 'unavailable';
      const { abort } = context;
      const withdraw = (): void => void withdrawQuestion(http, context);
      abort?.addEventListener('abort', withdraw, { once: true });
      try {
        await context.ask({
          permission,
          patterns: [resource],
          always: [],
          metadata: { title: summary, ...(resource === '*' ? {} : { checkpoint: resource }) },
        });
        // A yes that comes after an interrupt is none.
        return abort?.aborted ? 'rejected' : 'granted';
      } catch {
        // OpenCode says no by an error of its own kind; whatever it was, nobody said yes.
        return 'rejected';
      } finally {
        abort?.removeEventListener('abort', withdraw);
      }
    },
    openSession: async (session, prompt): Promise<void> => {
      // Nobody may be looking: then there is nothing to show, and that is fine.
      await http.answer('POST', '/tui/select-session', { body: { sessionID: session } }).catch(() => undefined);
      if (prompt !== null)
        await http.answer('POST', '/tui/append-prompt', { body: { text: prompt } }).catch(() => undefined);
    },
  };
}

const questionList: Shape<Array<{ id: string; sessionID: string; tool?: { callID?: string } | null }>> = listOf(
  'a list of questions',
  shape('a question', (raw) => isFields(raw) && isText(raw['id']) && isText(raw['sessionID'])),
);

/** The call was interrupted: nobody waits for the answer any more, so the question is not left standing. */
async function withdrawQuestion(http: InProcessHttp, { sessionID, callID }: V1ToolContext): Promise<void> {
  try {
    const open = await http.read(questionList, 'GET', '/permission');
    for (const { id, sessionID: session, tool } of open)
      if (session === sessionID && tool?.callID === callID)
        await http.json('POST', `/permission/${id}/reply`, { body: { reply: 'reject' } });
  } catch {
    // Then it stands until it is answered, and a yes to it is none.
  }
}

function addCommands(config: V1Config, tools: readonly ToolSpec[]): void {
  config.command ??= {};
  for (const { name, description, template } of slashCommands(tools))
    config.command[name] ??= { description, template };
}

function voiceOf(http: InProcessHttp): Voice {
  const tell = (path: string, body: unknown): void => {
    // There is no place left to tell that telling failed.
    http.answer('POST', path, { body }).catch(() => undefined);
  };
  return {
    log: (level, message) => tell('/log', { service: 'opencode-checkpoints', level, message }),
    show: (message) => tell('/tui/show-toast', { title: 'Checkpoints', message, variant: 'warning' }),
  };
}
