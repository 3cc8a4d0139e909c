/** The `data` of each server-sent event; comments (OpenCode 2's heartbeats) are reported as null. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  options: { silenceMs: number; signal: AbortSignal },
): AsyncGenerator<string | null> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const stop = (): void => void reader.cancel().catch(() => undefined);
  options.signal.addEventListener('abort', stop, { once: true });
  let buffer = '';
  try {
    for (;;) {
      const chunk = await withSilenceLimit(reader, options.silenceMs);
      if (chunk.done) return;
      buffer += decoder.decode(chunk.value, { stream: true });
      const blocks = buffer.split(/\r\n\r\n|\n\n|\r\r/);
      buffer = blocks.pop() ?? '';
      for (const block of blocks) yield dataOf(block);
    }
  } finally {
    options.signal.removeEventListener('abort', stop);
    stop();
  }
}

function dataOf(block: string): string | null {
  const lines = block.split(/\r\n|\n|\r/).filter((line) => line.startsWith('data:'));
  if (lines.length === 0) return null;
  return lines.map((line) => line.slice(line.startsWith('data: ') ? 6 : 5)).join('\n');
}

/** Both generations send a sign of life every 10 or 15 seconds; a connection without one is dead. */
async function withSilenceLimit(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  silenceMs: number,
): Promise<ReadableStreamReadResult<Uint8Array>> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing was heard for ${silenceMs} ms`)), silenceMs);
  });
  try {
    return await Promise.race([reader.read(), silence]);
  } finally {
    clearTimeout(timer);
  }
}
