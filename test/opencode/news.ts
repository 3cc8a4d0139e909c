import { readFile } from 'node:fs/promises';
import type { OpenCode } from '../rig/opencode';

/** What a person is shown: in OpenCode 1 a notice, in OpenCode 2 every line about it in the log. */
export class News {
  private heard = '';
  private readonly end = new AbortController();

  constructor(private readonly server: OpenCode) {}

  async listen(): Promise<void> {
    if (this.server.generation === 'v2') return;
    const response = await fetch(`${this.server.url}/event?directory=${encodeURIComponent(this.server.workspace)}`, {
      headers: { authorization: this.server.authorization },
      signal: this.end.signal,
    });
    void this.follow(response).catch((error: unknown) => {
      if (!this.end.signal.aborted) this.heard += `\nthe events ended: ${String(error)}`;
    });
  }

  private async follow(response: Response): Promise<void> {
    for await (const chunk of response.body ?? []) this.heard += Buffer.from(chunk as Uint8Array).toString();
  }

  async said(): Promise<string[]> {
    const all = this.server.generation === 'v1' ? this.heard : await readFile(this.server.logFile, 'utf8');
    const own = this.server.generation === 'v1' ? /"tui\.toast\.show"/ : /^opencode-checkpoints (error|.*full)/;
    return all.split('\n').filter((line) => own.test(line) || line.startsWith('the events ended'));
  }

  close(): void {
    this.end.abort();
  }
}
