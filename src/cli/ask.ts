import { createInterface } from 'node:readline/promises';

type Terminal = NodeJS.ReadStream & { isTTY?: boolean };

/** One question on stderr, so that stdout stays the result. Resolves to null when the terminal was closed or interrupted. */
export async function ask(
  input: Terminal,
  output: NodeJS.WritableStream,
  question: string,
  signal: AbortSignal,
): Promise<string | null> {
  const lines = createInterface({ input, output, terminal: true });
  try {
    const given = await new Promise<string | null>((answer, fail) => {
      lines.once('close', () => answer(null));
      lines.once('SIGINT', () => answer(null));
      signal.addEventListener('abort', () => answer(null), { once: true });
      lines.question(question, { signal }).then(answer, (error: unknown) => {
        if (signal.aborted) answer(null);
        else fail(error as Error);
      });
    });
    // What is said next has a line of its own.
    if (given === null) output.write('\n');
    return given;
  } finally {
    lines.close();
  }
}
