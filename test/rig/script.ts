/** What the scripted model plays: neutral steps that run unchanged on both generations of OpenCode. */

/** A file-changing (or other) tool, named neutrally; `call` passes a raw tool name and arguments through. */
export type ToolUse = Use & {
  /** Some models number their calls anew in each session, or in each answer; left out, each call has an id of its own. */
  callId?: string;
};

type Use =
  | { op: 'write'; path: string; content: string }
  | { op: 'edit'; path: string; from: string; to: string }
  | { op: 'patch'; patch: string }
  | { op: 'shell'; command: string }
  | { op: 'read'; path: string }
  | { op: 'subagent'; prompt: string; agent?: string; description?: string }
  | { op: 'todos'; todos: Array<{ content: string; status: string; priority: string }> }
  | { op: 'call'; tool: string; args: Record<string, unknown> };

/** One model answer, that is one assistant message. Several tools in one step run in parallel. */
export interface Step {
  text?: string;
  tools?: ToolUse[];
  /** Waits before the answer begins. */
  sleepMs?: number;
  /** Waits after the text, before the answer ends: the session is busy with a half-finished message. */
  hangMs?: number;
  usage?: { input?: number; output?: number };
  /** Answers with an HTTP error instead; `times` left out means always. */
  error?: { status: number; message?: string; times?: number };
}

export type Script = Step[];

export const write = (path: string, content: string): ToolUse => ({ op: 'write', path, content });
export const edit = (path: string, from: string, to: string): ToolUse => ({ op: 'edit', path, from, to });
export const patch = (text: string): ToolUse => ({ op: 'patch', patch: text });
export const shell = (command: string): ToolUse => ({ op: 'shell', command });
export const read = (path: string): ToolUse => ({ op: 'read', path });
export const subagent = (prompt: string, agent?: string): ToolUse => ({ op: 'subagent', prompt, agent });
export const todos = (...contents: string[]): ToolUse => ({
  op: 'todos',
  todos: contents.map((content) => ({ content, status: 'pending', priority: 'medium' })),
});
export const call = (tool: string, args: Record<string, unknown> = {}): ToolUse => ({ op: 'call', tool, args });

export const called = (callId: string, use: ToolUse): ToolUse => ({ ...use, callId });

/** The tool call as the generation that offered `offered` names it. */
export function nativeCall(
  use: ToolUse,
  offered: ReadonlySet<string>,
): { name: string; args: Record<string, unknown> } {
  const v1 = offered.has('bash');
  switch (use.op) {
    case 'write':
      return { name: 'write', args: { [v1 ? 'filePath' : 'path']: use.path, content: use.content } };
    case 'edit':
      return {
        name: 'edit',
        args: { [v1 ? 'filePath' : 'path']: use.path, oldString: use.from, newString: use.to },
      };
    case 'patch':
      return { name: v1 ? 'apply_patch' : 'patch', args: { patchText: use.patch } };
    case 'shell':
      return v1
        ? { name: 'bash', args: { command: use.command, description: 'scripted' } }
        : { name: 'shell', args: { command: use.command } };
    case 'read':
      return { name: 'read', args: { [v1 ? 'filePath' : 'path']: use.path } };
    case 'subagent': {
      const agent = use.agent ?? 'general';
      const description = use.description ?? 'scripted';
      return v1
        ? { name: 'task', args: { description, prompt: use.prompt, subagent_type: agent } }
        : { name: 'subagent', args: { agent, description, prompt: use.prompt } };
    }
    case 'todos':
      return { name: 'todowrite', args: { todos: use.todos } };
    case 'call':
      return { name: use.tool, args: use.args };
  }
}
