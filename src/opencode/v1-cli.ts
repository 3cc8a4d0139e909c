import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CheckpointsError } from '../core/errors';
import type { SessionExport, Todo } from '../core/sessions';

const run = promisify(execFile);

/** OpenCode 1's command line, for what its server has no interface for. */
export interface CommandLine {
  binary: string;
  env: NodeJS.ProcessEnv;
}

/** Works beside a running server, which sees the result at once, without an event. */
export async function importByCommand(cli: CommandLine, document: SessionExport, directory: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'opencode-checkpoints-'));
  try {
    const file = join(folder, 'session.json');
    await writeFile(file, JSON.stringify(document), { mode: 0o600 });
    await call(cli, ['import', file], directory);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** No interface of OpenCode 1 writes todos, but its own command for its own database does. */
export async function todosByCommand(
  cli: CommandLine,
  session: string,
  todos: readonly Todo[],
  directory: string,
): Promise<void> {
  const now = Date.now();
  const row = (todo: Todo, position: number): string =>
    `(${[session, todo.content, todo.status, todo.priority].map(quote).join(',')},${position},${now},${now})`;
  const insert =
    'insert into todo (session_id,content,status,priority,position,time_created,time_updated) values ' +
    todos.map(row).join(',');
  await call(cli, ['db', insert], directory);
}

function quote(text: string): string {
  return `'${text.replaceAll('\0', '').replaceAll("'", "''")}'`;
}

async function call({ binary, env }: CommandLine, args: string[], directory: string): Promise<void> {
  try {
    await run(binary, args, { cwd: directory, env, timeout: 120_000, maxBuffer: 16 << 20 });
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string };
    const last = stderr.trim().split('\n').at(-1) ?? '';
    throw new CheckpointsError('server-failed', `opencode ${args[0]} failed: ${last}`, { cause: error });
  }
}
