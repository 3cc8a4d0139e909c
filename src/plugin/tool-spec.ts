import type { Arguments } from './arguments';
import type { PluginBackup } from './backup';
import type { Companion } from './companion';
import type { TaskMemory } from './memory';
import type { Reporter } from './reporter';
import { nowhere, type Moment, type SessionTracker } from './tracker';

/** What a tool works with, whichever generation of OpenCode calls it. */
export interface Toolbox {
  companion: Companion;
  sessions: SessionTracker;
  memory: TaskMemory;
  reporter: Reporter;
  backup: PluginBackup;
}

/** What is the user's to decide: OpenCode asks them, also where everything else is allowed. Named like the tool that asks. */
export const askedFor = ['checkpoint_restore', 'checkpoint_delete'] as const;

export interface Question {
  permission: (typeof askedFor)[number];
  /** What it is about, as rules for it can name it: a checkpoint, or `*`. */
  resource: string;
  /** One line for a person. */
  summary: string;
}

export type Permission =
  | 'granted'
  | 'rejected'
  /** There is nobody to ask here. */
  | 'unavailable';

export interface CallContext {
  session: string;
  messageId: string;
  callId: string;
  ask(question: Question): Promise<Permission>;
  /** Shows a session to the user, with a prompt to be edited and sent, where that can be done. */
  openSession(session: string, prompt: string | null): Promise<void>;
}

export interface JsonSchema {
  type: 'object';
  properties: Record<string, Record<string, unknown>>;
  required: string[];
}

export interface ToolSpec {
  name: string;
  /** Offered with the setting `tools` = core, too. */
  core: boolean;
  description: string;
  input: JsonSchema;
  run(args: Arguments, call: CallContext): Promise<string>;
}

export const text = (description?: string): Record<string, unknown> => ({
  type: 'string',
  ...(description === undefined ? {} : { description }),
});
export const texts = { type: 'array', items: { type: 'string' } };

export function input(properties: JsonSchema['properties'] = {}, required: string[] = []): JsonSchema {
  return { type: 'object', properties, required };
}

/** What an agent makes belongs to the conversation through the step that makes it. */
export async function placeOf(box: Toolbox, call: CallContext): Promise<Moment | typeof nowhere> {
  try {
    return await box.sessions.throughStep(call.session, call.messageId);
  } catch (error) {
    box.reporter.failed('The place in the conversation is not known', error);
    return nowhere;
  }
}
