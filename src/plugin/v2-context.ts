import type { V2Message, V2Session } from '../opencode/v2-normal';
import type { JsonSchema } from './tool-spec';

/** What OpenCode 2 gives a plugin, as far as it is used. OpenCode 1 calls `setup` too, with almost none of it. */
export interface V2Context {
  location: { directory: string };
  tool: {
    hook(name: 'execute.before' | 'execute.after', run: (event: V2ToolEvent) => Promise<void>): Promise<unknown>;
    transform(change: (draft: { add(tool: V2Tool): void }) => void): Promise<unknown>;
  };
  session: {
    hook(name: 'prompt', run: (event: V2PromptEvent) => Promise<void>): Promise<unknown>;
    hook(name: 'context' | 'compaction', run: (event: V2ModelEvent) => Promise<void>): Promise<unknown>;
    get(request: { sessionID: string }): Promise<V2Session>;
    /** Messages since the last compaction. */
    context(request: { sessionID: string }): Promise<V2Message[]>;
    prompt(request: Record<string, unknown>): Promise<unknown>;
  };
  permission?: {
    hook(name: 'evaluate', run: (event: { action: string; effect: string }) => Promise<void>): Promise<unknown>;
  };
  command?: {
    transform(change: (draft: { add(command: V2Command): void }) => void): Promise<unknown>;
  };
  event: { subscribe(): AsyncIterable<V2Event> };
}

export interface V2ToolEvent {
  tool: string;
  sessionID: string;
  messageID: string;
  id: string;
  input: unknown;
}

export interface V2PromptEvent {
  sessionID: string;
  messageID: string;
  prompt: { text: string };
  delivery?: string;
}

export interface V2ModelEvent {
  sessionID: string;
  system: Array<{ type: string; text: string }>;
}

export interface V2Tool {
  name: string;
  description: string;
  input: JsonSchema;
  options: { codemode: false };
  execute(
    input: unknown,
    call: { sessionID: string; messageID: string; id: string; signal?: AbortSignal },
  ): Promise<{ content: Array<{ type: 'text'; text: string }> }>;
}

export interface V2Command {
  name: string;
  description: string;
  execute(request: {
    sessionID: string;
    prompt: { text: string } & Record<string, unknown>;
    delivery?: string;
  }): Promise<unknown>;
}

export interface V2Event {
  type: string;
  /** Most events of a session have it; that it began or ended its work has not. */
  location?: { directory: string };
  data?: {
    sessionID?: string;
    assistantMessageID?: string;
    inboxID?: string;
    requestID?: string;
    reply?: string;
  };
}

export function isV2(value: unknown): value is V2Context {
  const context = value as Partial<Record<'tool' | 'session' | 'event', { hook?: unknown; subscribe?: unknown }>>;
  return (
    typeof context?.tool?.hook === 'function' &&
    typeof context.session?.hook === 'function' &&
    typeof context.event?.subscribe === 'function'
  );
}
