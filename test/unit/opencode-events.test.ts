import { describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../src/core/sessions';
import { followEvents } from '../../src/opencode/events';
import type { Http } from '../../src/opencode/http';

/** What each attempt to connect gives: a stream of these lines, or none at all. */
function server(attempts: Array<string[] | null>): Pick<Http, 'stream'> {
  let at = 0;
  return {
    stream: () => {
      const lines = attempts[at++];
      if (!lines) return Promise.reject(new Error('refused'));
      const text = lines.map((line) => `data: ${line}\n\n`).join('');
      return Promise.resolve(new Blob([text]).stream() as unknown as ReadableStream<Uint8Array>);
    },
  };
}

async function heard(attempts: Array<string[] | null>, wanted: number): Promise<string[]> {
  const stop = new AbortController();
  const out: string[] = [];
  const options = { http: server(attempts) as Http, path: '/event', mapper: () => ({ map: () => [] }), waitMs: 1 };
  await followEvents(
    options,
    (event: SessionEvent) => {
      out.push(event.type);
      if (out.length === wanted) stop.abort();
    },
    stop.signal,
  );
  return out;
}

describe('a server that goes away', () => {
  it('is lost once, however often it is asked in vain, and heard again', async () => {
    expect(await heard([['{}'], null, null, ['{}'], null], 4)).toEqual(['connected', 'lost', 'gap', 'lost']);
  });

  it('is lost, too, when it goes before it was heard', async () => {
    expect(await heard([null, null, ['{}'], null], 3)).toEqual(['lost', 'connected', 'lost']);
  });
});
