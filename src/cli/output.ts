import type { Writable } from 'node:stream';
import { type Style, styleFor, wantsColour } from './style';

type Sink = Writable & { isTTY?: boolean; columns?: number };

/**
 * Where a command speaks: results on stdout, everything else (errors, notes, progress, questions) on stderr. With `--json` stdout
 * carries one document and nothing else.
 */
export class Output {
  readonly style: Style;
  readonly errorStyle: Style;
  private drawn = false;
  private broken = false;
  private failure: Error | null = null;
  private beside: Record<string, unknown> = {};

  constructor(
    private readonly stdout: Sink,
    private readonly stderr: Sink,
    readonly json: boolean,
    env: NodeJS.ProcessEnv,
  ) {
    this.style = styleFor(!json && wantsColour(stdout, env));
    this.errorStyle = styleFor(wantsColour(stderr, env));
    // `... | head` closes the pipe. What the command does to the workspace goes on to its end; only the talking stops.
    for (const sink of [stdout, stderr])
      sink.on('error', (error: NodeJS.ErrnoException) => {
        if (sink !== stdout) return; // there is nowhere left to say it
        this.broken = true;
        if (error.code !== 'EPIPE' && error.code !== 'EIO') this.failure = error;
      });
  }

  /** The terminal's width; undefined when the output is read by a program, which wants nothing cut. */
  get width(): number | undefined {
    return this.stdout.isTTY ? (this.stdout.columns ?? 80) : undefined;
  }

  get isTerminal(): boolean {
    return this.stdout.isTTY === true;
  }

  /** What a program has to know whatever it asked for: a field of the one document, be it an answer or an error. */
  alsoTell(field: Record<string, unknown>): void {
    Object.assign(this.beside, field);
  }

  /** Indented for eyes, one line for programs. */
  document(value: object): void {
    this.write(`${JSON.stringify({ ...value, ...this.beside }, null, this.isTerminal ? 2 : 0)}\n`);
  }

  write(data: string | Uint8Array): void {
    this.clearProgress();
    if (!this.broken) this.stdout.write(data);
  }

  /** For people, beside the result. */
  note(text: string): void {
    this.clearProgress();
    this.stderr.write(`${text}\n`);
  }

  /** One line, drawn over itself, and only where somebody watches. */
  progress(text: string): void {
    if (this.json || !this.stderr.isTTY) return;
    this.stderr.write(`\r\u001b[K${this.errorStyle.dim(text)}`);
    this.drawn = true;
  }

  clearProgress(): void {
    if (!this.drawn) return;
    this.stderr.write('\r\u001b[K');
    this.drawn = false;
  }

  /** Resolves when everything written has left this process: to why it could not, a full disk for instance, where nobody closed it. */
  async flush(): Promise<Error | null> {
    await Promise.all(
      [this.stdout, this.stderr].map(
        (sink) =>
          new Promise<void>((done) => {
            if (sink.destroyed || sink.writableLength === 0) done();
            else sink.write('', () => done());
          }),
      ),
    );
    // A file is written at once, and what went wrong is told afterwards.
    await new Promise((told) => setImmediate(told));
    return this.failure;
  }
}
