import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { nativeCall, type Script, type Step } from './script';

/**
 * A small OpenAI-compatible server that plays scripts, so that real agents take real turns without a real model.
 * The last user text chooses the script; each assistant message since then is one step of it. Title and summary
 * requests are answered by the server itself.
 */

export interface ChatMessage {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: string | Array<{ type: string; text?: string }> | null;
  tool_calls?: unknown[];
  tool_call_id?: string;
}

/** One request as it came in, for tests that look at prompts. */
export interface RecordedRequest {
  kind: 'turn' | 'title' | 'summary';
  /** The last user text. */
  prompt: string;
  /** Which step of the script was played. */
  step: number;
  messages: ChatMessage[];
  tools: string[];
  model: string;
}

export interface ScriptedModel {
  /** Base address for an OpenAI-compatible provider. */
  readonly url: string;
  readonly port: number;
  readonly requests: RecordedRequest[];
  /** Plays `script` whenever the last user text is, or contains, `prompt`. Later rules win. */
  on(prompt: string | RegExp, script: Script | ((prompt: string) => Script)): void;
  /** What is played when no rule matches; at first one line of text. */
  otherwise(script: (prompt: string) => Script): void;
  close(): Promise<void>;
}

interface Rule {
  matches(prompt: string): boolean;
  script(prompt: string): Script;
  /** How often each error step has been given. */
  errors: Map<number, number>;
}

interface ChatRequest {
  model?: string;
  messages?: ChatMessage[];
  tools?: Array<{ function?: { name?: string } }>;
  stream?: boolean;
}

/** OpenCode 2 refuses a summary without one of its template's headings. */
const summary = [
  '## Objective',
  '- Scripted objective',
  '',
  '## Requirements',
  '- None',
  '',
  '## Work State',
  '- Completed: everything said so far',
  '',
  '## Next Move',
  '- Go on',
].join('\n');

export async function startScriptedModel(options: { port?: number } = {}): Promise<ScriptedModel> {
  const requests: RecordedRequest[] = [];
  const rules: Rule[] = [];
  let fallback: Rule = rule(
    () => true,
    (prompt) => [{ text: `Done: ${firstLine(prompt)}` }],
  );
  let callNumber = 0;
  const waiting = new Set<() => void>();

  const pause = (ms: number, response: ServerResponse): Promise<void> =>
    new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        waiting.delete(done);
        response.off('close', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      waiting.add(done);
      response.on('close', done);
    });

  async function answer(body: ChatRequest, response: ServerResponse): Promise<void> {
    const messages = body.messages ?? [];
    const tools = (body.tools ?? []).map((tool) => tool.function?.name ?? '');
    const last = messages.findLastIndex((message) => message.role === 'user');
    const prompt = last < 0 ? '' : textOf(messages[last]);
    const kind = kindOf(messages, prompt);
    const found = rules.find((candidate) => candidate.matches(prompt)) ?? fallback;
    const taken = messages.slice(last + 1).filter((message) => message.role === 'assistant').length;
    const { step, index } = kind === 'turn' ? pick(found, prompt, taken) : { step: own(kind), index: 0 };
    requests.push({ kind, prompt, step: index, messages, tools, model: body.model ?? '' });

    if (step.sleepMs) await pause(step.sleepMs, response);
    if (response.destroyed) return;
    if (step.error) {
      found.errors.set(index, (found.errors.get(index) ?? 0) + 1);
      response.writeHead(step.error.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: step.error.message ?? 'scripted error', type: 'scripted' } }));
      return;
    }
    const offered = new Set(tools);
    const calls = (step.tools ?? []).map((use) => ({
      id: use.callId ?? `call_${++callNumber}`,
      ...nativeCall(use, offered),
    }));
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    const send = (delta: object, finish: string | null = null, extra: object = {}): void => {
      response.write(
        `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason: finish }], ...extra })}\n\n`,
      );
    };
    const head = { id: `chat_${requests.length}`, object: 'chat.completion.chunk', created: 0, model: body.model };
    send({ role: 'assistant', content: '' });
    if (step.text) send({ content: step.text });
    if (step.hangMs) await pause(step.hangMs, response);
    if (response.destroyed) return;
    calls.forEach((call, index) =>
      send({
        tool_calls: [
          { index, id: call.id, type: 'function', function: { name: call.name, arguments: JSON.stringify(call.args) } },
        ],
      }),
    );
    const input = step.usage?.input ?? 100;
    const output = step.usage?.output ?? 20;
    const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
    send({}, calls.length > 0 ? 'tool_calls' : 'stop', { usage });
    response.end('data: [DONE]\n\n');
  }

  const server = createServer((request, response) => {
    if (request.method !== 'POST' || !request.url?.endsWith('/chat/completions')) {
      response.writeHead(404).end();
      return;
    }
    readJson(request)
      .then((body) => answer(body as ChatRequest, response))
      .catch((error: unknown) => {
        if (!response.headersSent) response.writeHead(500, { 'content-type': 'text/plain' });
        response.end(String(error));
      });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://127.0.0.1:${port}/v1`,
    port,
    requests,
    on(prompt, script) {
      const play = typeof script === 'function' ? script : () => script;
      const matches =
        typeof prompt === 'string' ? (text: string) => text.includes(prompt) : (text: string) => prompt.test(text);
      rules.unshift(rule(matches, play));
    },
    otherwise(script) {
      fallback = rule(() => true, script);
    },
    async close() {
      for (const done of [...waiting]) done();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function rule(matches: Rule['matches'], script: Rule['script']): Rule {
  return { matches, script, errors: new Map() };
}

/** The step to play: error steps that were given often enough are passed over, and leave no assistant message. */
function pick(found: Rule, prompt: string, taken: number): { step: Step; index: number } {
  const live = found
    .script(prompt)
    .map((step, index) => ({ step, index }))
    .filter(({ step, index }) => (found.errors.get(index) ?? 0) < (step.error?.times ?? Infinity));
  return live[taken] ?? { step: { text: 'Done.' }, index: taken };
}

function own(kind: 'title' | 'summary'): Step {
  return kind === 'title' ? { text: 'Scripted title' } : { text: summary };
}

function kindOf(messages: ChatMessage[], prompt: string): RecordedRequest['kind'] {
  const system = messages
    .filter((message) => message.role === 'system')
    .map(textOf)
    .join('\n');
  if (system.includes('You are a title generator')) return 'title';
  if (system.includes('context summarization agent')) return 'summary';
  if (/^(You MUST summarize the conversation|Update the existing checkpoint in the conversation)/.test(prompt))
    return 'summary';
  if (prompt.startsWith('The previous response did not fill in the required summary template')) return 'summary';
  return 'turn';
}

export function textOf(message: ChatMessage | undefined): string {
  const content = message?.content;
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => part.text ?? '').join('\n');
}

function firstLine(text: string): string {
  return (text.split('\n')[0] ?? '').slice(0, 80);
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}
