import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import type { SessionInfo, SessionMessage } from '../../src/core/sessions';
import { SessionTracker } from '../../src/plugin/tracker';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const info = {
  id: 'ses_1',
  title: 'One',
  parentId: null,
  fork: null,
  metadata: {},
  model: null,
  agent: null,
} as SessionInfo;

function message(id: string, role: 'user' | 'assistant', more: Partial<SessionMessage> = {}): SessionMessage {
  return {
    ...{ id, role, type: role, createdAt: 1, completedAt: 2, text: id, synthetic: false, parentId: null, model: null },
    ...{ agent: null, cost: 0, tokens: 0, error: null, reverted: false, calls: [], files: [], ...more },
  };
}

describe('what is remembered of a conversation', () => {
  it('is where its points belong, and not what its calls were given', async () => {
    let given: Record<string, unknown> | null = { content: 'a whole file' };
    const gone = new WeakRef(given);
    const edit = { id: 'call_1', tool: 'write', input: given, status: 'completed' as const, childSession: null };
    let messages: SessionMessage[] | null = [
      message('msg_1', 'user', { text: `x${'🙂'.repeat(900)}` }),
      message('msg_2', 'assistant', { calls: [{ ...edit, startedAt: 1, endedAt: 2 }], completedAt: null }),
    ];
    edit.input = {};
    given = null;
    const read = messages;
    const tracker = new SessionTracker({
      get: () => Promise.resolve(info),
      messages: () => Promise.resolve(read.splice(0)),
    });
    messages = null;
    const through = await tracker.throughStep('ses_1', 'msg_2');
    expect(through.session).toMatchObject({ messageId: 'msg_2', messageCount: 2 });
    expect(through.turn).toMatchObject({ number: 1, prompt: `x${'🙂'.repeat(499)}` });
    await new Promise((next) => setImmediate(next));
    collectGarbage();
    expect(gone.deref()).toBeUndefined();
    // Asked again, it knows where the call belongs without reading: there is nothing left to be read.
    const before = await tracker.beforeCall('ses_1', 'call_1', null);
    expect(before).toMatchObject({ session: { messageId: 'msg_1', messageCount: 1 }, turn: { number: 1 } });
  });
});
