// `npm run demo:prompt -- [--new] "refactor the greeter"`: sends a prompt to the agent of the running demo and shows
// what it says. The next prompt goes to the same session, unless --new.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { findDemo } from './state.mjs';

const args = process.argv.slice(2);
const at = args.indexOf('--state');
const [, named] = at < 0 ? [] : args.splice(at, 2);
const fresh = args.includes('--new');
const text = args.filter((arg) => arg !== '--new').join(' ');

const stateFile = named ?? findDemo();
if (text === '' || !stateFile || !existsSync(stateFile)) {
  process.stderr.write(
    text === '' ? 'Usage: npm run demo:prompt -- [--new] "PROMPT"\n' : 'No demo is running. Start one: npm start\n',
  );
  process.exit(1);
}
const demo = JSON.parse(readFileSync(stateFile, 'utf8'));
const v1 = demo.generation === 'v1';

async function call(method, path, body) {
  const response = await fetch(demo.url + path, {
    method,
    headers: {
      authorization: `Basic ${Buffer.from(`opencode:${demo.password}`).toString('base64')}`,
      ...(body ? { 'content-type': 'application/json' } : {}),
    },
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(120_000),
  });
  const answer = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${answer.slice(0, 300)}`);
  return answer === '' ? undefined : JSON.parse(answer);
}

const where = encodeURIComponent(demo.workspace);

async function session() {
  if (demo.session && !fresh) return demo.session;
  const title = text.slice(0, 60);
  const made = v1
    ? await call('POST', `/session?directory=${where}`, { title })
    : (await call('POST', '/api/session', { title, location: { directory: demo.workspace } })).data;
  writeFileSync(stateFile, JSON.stringify({ ...demo, session: made.id }), { mode: 0o600 });
  return made.id;
}

/** What the agent said and did, one line each, oldest first. */
async function lines(id) {
  if (v1) {
    const messages = await call('GET', `/session/${id}/message`);
    const parts = messages.filter((message) => message.info.role === 'assistant').flatMap((message) => message.parts);
    return parts.flatMap((part) => describe(part, part.tool, part.state?.input?.filePath));
  }
  const { data } = await call('GET', `/api/session/${id}/message?order=desc&limit=100`);
  const parts = data.reverse().flatMap((message) => (message.type === 'assistant' ? message.content : []));
  return parts.flatMap((part) => describe(part, part.name, part.state?.input?.path));
}

function describe(part, tool, path) {
  if (part.type === 'text' && part.text) return [part.text];
  if (part.type !== 'tool') return [];
  if (!['completed', 'error'].includes(part.state?.status)) return [];
  const what = path ?? part.state.input?.command ?? '';
  return [`  ${part.state.status === 'error' ? 'failed: ' : ''}${tool} ${what}`];
}

async function busy(id) {
  const running = v1
    ? await call('GET', `/session/status?directory=${where}`)
    : (await call('GET', '/api/session/active')).data;
  return id in running;
}

const id = await session();
let shown = (await lines(id)).length;
process.stdout.write(`> ${text}\n`);
if (v1) await call('POST', `/session/${id}/prompt_async`, { parts: [{ type: 'text', text }] });
else await call('POST', `/api/session/${id}/prompt`, { text });

// Neither generation says busy between the prompt and its first step: idle counts once something was answered.
for (let answered = false, idle = 0; idle < 2 || !answered;) {
  await new Promise((done) => setTimeout(done, 300));
  idle = (await busy(id)) ? 0 : idle + 1;
  const now = await lines(id);
  for (const line of now.slice(shown)) process.stdout.write(`${line}\n`);
  answered ||= now.length > shown;
  shown = now.length;
  if (idle > 100) throw new Error('the agent gave no answer');
}
