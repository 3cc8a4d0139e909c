import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../core/atomic-file';
import type { SessionExport } from '../core/sessions';
import type { Damage, LoadedVersion } from './catalog';
import { factsOf, parseTodos, type DocumentFacts } from './document';
import { hashOf } from './folder';
import { isSessionId } from './layout';

export interface LegacySession extends DocumentFacts {
  file: string;
  size: number;
}

type Json = Record<string, unknown>;

/**
 * OpenCode's old folders of JSON files, which older backups are copies of: `session/<project>/<id>.json`, `message/<session>/<id>.json`,
 * `part/<message>/<id>.json`, `todo/<session>.json`. Only read.
 */
export class LegacyBackup {
  private files = new Map<string, string>();

  private constructor(private readonly folder: string) {}

  /** In the folder itself, or in a `storage` below it. */
  static async find(folder: string): Promise<LegacyBackup | null> {
    for (const candidate of [folder, join(folder, 'storage')])
      if ((await names(join(candidate, 'session'))).length > 0) return new LegacyBackup(candidate);
    return null;
  }

  async list(onDamaged: (file: string) => void): Promise<LegacySession[]> {
    const found: LegacySession[] = [];
    for (const project of await names(join(this.folder, 'session')))
      for (const name of await names(join(this.folder, 'session', project))) {
        const file = `session/${project}/${name}`;
        const info = await readJson(join(this.folder, file));
        const id = info?.['id'];
        if (!info || typeof id !== 'string' || !isSessionId(id)) {
          if (name.endsWith('.json')) onDamaged(file);
          continue;
        }
        this.files.set(id, file);
        const messages = (await names(join(this.folder, 'message', id))).length;
        const document = { info: sessionInfo(info, id, project), messages: [] };
        found.push({ ...factsOf(document), messages, file, size: await sizeOf(join(this.folder, file)) });
      }
    return found;
  }

  async load(id: string): Promise<LoadedVersion | Damage> {
    const file = this.files.get(id);
    const info = file === undefined ? null : await readJson(join(this.folder, file));
    if (file === undefined || !info) return 'unreadable';
    const messages: unknown[] = [];
    for (const name of (await names(join(this.folder, 'message', id))).sort()) {
      const own = await readJson(join(this.folder, 'message', id, name));
      if (!own || typeof own['id'] !== 'string') return 'unreadable';
      messages.push({ info: messageInfo(own, id, messages), parts: await this.parts(own['id'], id) });
    }
    const document: SessionExport = { info: sessionInfo(info, id, file.split('/')[1] ?? 'global'), messages };
    const todos = await read(join(this.folder, 'todo', `${id}.json`));
    return { document, todos: todos && parseTodos(todos), sha256: hashOf(JSON.stringify(document)) };
  }

  private async parts(message: string, session: string): Promise<Json[]> {
    const parts: Json[] = [];
    for (const name of (await names(join(this.folder, 'part', message))).sort()) {
      const part = await readJson(join(this.folder, 'part', message, name));
      // A part that cannot be read is one sentence or one tool call less; the conversation is worth more than that.
      if (part) parts.push({ ...part, messageID: message, sessionID: session });
    }
    return parts;
  }
}

/** What today's `opencode import` wants, where the old file has it not. */
function sessionInfo(info: Json, id: string, project: string): SessionExport['info'] {
  const time = (info['time'] ?? {}) as Json;
  const created = typeof time['created'] === 'number' ? time['created'] : 0;
  return {
    slug: id.slice(-12).toLowerCase(),
    version: '0.0.0',
    title: 'Untitled',
    directory: '/',
    projectID: project,
    ...info,
    id,
    time: { updated: created, ...time, created },
  };
}

function messageInfo(info: Json, session: string, before: readonly unknown[]): Json {
  const time = { created: 0, ...(info['time'] as Json | undefined) };
  if (info['role'] === 'user')
    return { agent: 'build', model: { providerID: 'unknown', modelID: 'unknown' }, ...info, sessionID: session, time };
  const prompt = before
    .map((message) => (message as { info: Json }).info)
    .findLast((message) => message['role'] === 'user');
  return {
    parentID: prompt?.['id'] ?? info['id'],
    providerID: 'unknown',
    modelID: 'unknown',
    mode: 'build',
    agent: 'build',
    path: { cwd: '/', root: '/' },
    cost: 0,
    tokens: { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } },
    ...info,
    sessionID: session,
    time,
  };
}

/** None where there is no such folder. */
async function names(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => !name.startsWith('.'));
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return [];
    throw error;
  }
}

async function read(file: string): Promise<Buffer | null> {
  try {
    return await readFile(file);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EISDIR'].includes(codeOf(error))) return null;
    throw error;
  }
}

async function readJson(file: string): Promise<Json | null> {
  const bytes = await read(file);
  try {
    const value: unknown = bytes === null ? null : JSON.parse(bytes.toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

async function sizeOf(file: string): Promise<number> {
  return (await stat(file)).size;
}
