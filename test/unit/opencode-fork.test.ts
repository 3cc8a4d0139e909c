import { describe, expect, it } from 'vitest';
import { CheckpointsError } from '../../src/core/errors';
import { forkAt } from '../../src/core/fork';
import type { ForkedSession, SessionGateway, SessionInfo, SessionMessage } from '../../src/core/sessions';
import { checkedFork } from '../../src/opencode/checked-fork';
import { conversation, info, message } from './session-samples';

/**
 * What a real server does only by bad luck: a message that comes between reading and forking, a fork that is not what was
 * asked for, a failure after the fork. Everything else about forks is tested on the real servers (test/opencode).
 */
class UnluckyServer {
  readonly sessions = new Map<string, { info: SessionInfo; messages: SessionMessage[] }>();
  readonly removed: string[] = [];
  /** Runs before the next forks, one each. */
  readonly surprises: Array<() => void> = [];
  failUpdate = false;
  private number = 0;

  constructor(messages: SessionMessage[]) {
    this.sessions.set('ses_a', { info: info('ses_a', { createdAt: 0 }), messages });
  }

  gateway(): SessionGateway {
    const find = (id: string) => {
      const found = this.sessions.get(id);
      if (!found) throw new CheckpointsError('session-missing', id);
      return found;
    };
    const messages = (id: string): Promise<SessionMessage[]> => Promise.resolve([...find(id).messages]);
    const remove = (id: string): Promise<void> => {
      this.sessions.delete(id);
      this.removed.push(id);
      return Promise.resolve();
    };
    const fork = (id: string, before: string | null): Promise<SessionInfo> => {
      this.surprises.shift()?.();
      const list = find(id).messages;
      // As OpenCode 1: an unknown message copies everything.
      const end = list.findIndex((one) => one.id === before);
      const copies = list.slice(0, end < 0 ? list.length : end).map((one) => ({ ...one, id: `copy-${one.id}` }));
      const made = info(`ses_fork${++this.number}`, { createdAt: 1000 });
      this.sessions.set(made.id, { info: made, messages: copies });
      return Promise.resolve(made);
    };
    return {
      generation: 'v1',
      version: '1.18.33',
      url: '',
      capabilities: { todos: 'none', notes: 'message', import: false },
      listAll: () => Promise.resolve([]),
      list: () => Promise.resolve([...this.sessions.values()].map((one) => one.info)),
      get: (id) => Promise.resolve(find(id).info),
      messages,
      fork: (id, before): Promise<ForkedSession> => checkedFork({ messages, fork, remove }, id, before),
      busy: () => Promise.resolve('idle'),
      working: () => Promise.resolve([]),
      interrupt: () => Promise.resolve(),
      note: () => Promise.resolve(),
      update: () => (this.failUpdate ? Promise.reject(new CheckpointsError('server-failed', 'no')) : Promise.resolve()),
      todos: () => Promise.resolve(null),
      writeTodos: () => Promise.resolve(false),
      exportSession: () => Promise.reject(new Error('not needed')),
      importSession: () => Promise.reject(new Error('not needed')),
      remove,
      events: () => Promise.resolve(),
    };
  }
}

const request = (messageId: string | null, messageCount: number) => ({
  anchor: { id: 'ses_a', messageId, messageCount },
  directory: '/w',
  title: 'T',
  checkpoint: null,
});

describe('a fork under bad luck', () => {
  it('is made once more when the agent went on in between', async () => {
    const server = new UnluckyServer(conversation('u a u a'));
    server.surprises.push(() => server.sessions.get('ses_a')?.messages.push(message('m5', 'user', { createdAt: 5 })));
    const made = await forkAt(server.gateway(), request('m4', 4));
    expect(made.messageCount).toBe(4);
    expect(server.sessions.get(made.session.id)?.messages).toHaveLength(4);
    // The wrong one is gone.
    expect(server.removed).toEqual(['ses_fork1']);
    expect([...server.sessions.keys()]).toEqual(['ses_a', 'ses_fork2']);
  });

  it('is given up when it never comes out right, and leaves nothing', async () => {
    const server = new UnluckyServer(conversation('u a u a'));
    const dropOne = (): void => void server.sessions.get('ses_a')?.messages.splice(1, 1);
    server.surprises.push(dropOne);
    await expect(forkAt(server.gateway(), request('m3', 3))).rejects.toMatchObject({ reason: 'message-missing' });
    expect([...server.sessions.keys()]).toEqual(['ses_a']);

    const other = new UnluckyServer(conversation('u a'));
    let time = 3;
    const addOne = (): void =>
      void other.sessions.get('ses_a')?.messages.unshift(message(`x${time}`, 'other', { createdAt: time++ }));
    for (let index = 0; index < 5; index++) other.surprises.push(addOne);
    await expect(forkAt(other.gateway(), request('m2', 2))).rejects.toMatchObject({ reason: 'fork-mismatch' });
    expect([...other.sessions.keys()]).toEqual(['ses_a']);
  });

  it('is taken away again when it cannot be finished', async () => {
    const server = new UnluckyServer(conversation('u a'));
    server.failUpdate = true;
    await expect(forkAt(server.gateway(), request('m2', 2))).rejects.toMatchObject({ reason: 'server-failed' });
    expect([...server.sessions.keys()]).toEqual(['ses_a']);
  });

  it('is taken away again when it is not wanted any more', async () => {
    const server = new UnluckyServer(conversation('u a u a'));
    const controller = new AbortController();
    server.surprises.push(() => controller.abort());
    const wanted = { ...request('m2', 2), signal: controller.signal };
    await expect(forkAt(server.gateway(), wanted)).rejects.toMatchObject({ reason: 'cancelled' });
    expect(server.removed).toEqual(['ses_fork1']);
    await expect(forkAt(server.gateway(), wanted)).rejects.toMatchObject({ reason: 'cancelled' });
    expect([...server.sessions.keys()]).toEqual(['ses_a']);
  });
});
