import { sep } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import type { WorkspaceApi } from '../core/api';
import { storeHome } from '../core/config';
import type { RecoveryReport } from '../core/ports';
import type { SessionGateway } from '../core/sessions';
import { CheckpointsError } from '../core/errors';
import { ask } from './ask';
import type { Invocation, Opened, OpenNeeds, Reply, Selection } from './command';
import { openFor } from './compose';
import type { Output } from './output';
import { recoverySentence, sentence } from './sentences';
import { openSessions, type Sessions } from './sessions';
import { visible } from './visible';

/** Runs one selected command; whatever it opened is closed again, however it ends. */
export async function run(selection: Selection, output: Output, signal: AbortSignal): Promise<Reply> {
  const invocation = new Running(selection, output, signal);
  let failure: { error: unknown } | null = null;
  try {
    return await selection.run(invocation);
  } catch (error) {
    failure = { error };
    throw atStore(error);
  } finally {
    output.clearProgress();
    // What went wrong first says more than what cannot be closed for that.
    await invocation.close().catch((error: unknown) => {
      if (!failure) throw atStore(error);
    });
  }
}

/** Whatever came upon it: a store of somebody else's (made with `sudo`, for instance) is no fault of the program. */
function atStore(error: unknown): unknown {
  const { code, path } = (error ?? {}) as NodeJS.ErrnoException;
  if (typeof path !== 'string' || !['EACCES', 'EPERM', 'EROFS'].includes(code ?? '')) return error;
  const home = storeHome();
  if (path !== home && !path.startsWith(home + sep)) return error;
  const what = code === 'EROFS' ? 'cannot be written' : 'may not be read, or not be written';
  return new CheckpointsError('store-readonly', `The store ${what} (${path}).`, { cause: error });
}

class Running implements Invocation {
  private readonly opened: Array<{ close(): Promise<void> }> = [];
  private connection: Sessions | null = null;
  private readonly warned = new Set<string>();

  constructor(
    private readonly selection: Selection,
    readonly output: Output,
    readonly signal: AbortSignal,
  ) {}

  get globals(): Invocation['globals'] {
    return this.selection.globals;
  }

  get interactive(): boolean {
    return !this.globals.json && process.stdin.isTTY === true && process.stderr.isTTY === true;
  }

  async open(needs: OpenNeeds = {}): Promise<WorkspaceApi> {
    return (await this.openAll(needs)).workspace;
  }

  async openAll(needs: OpenNeeds = {}): Promise<Opened> {
    const opened = await openFor(this.globals, needs, (folder, root) => this.connect(folder, root));
    this.opened.push(opened.workspace);
    if (opened.recovered) this.tellRecovered(opened.recovered);
    // For programs, too: what should have been left out may be captured now.
    if (!needs.examines) for (const { message } of opened.workspace.configProblems()) this.warn(message);
    return opened;
  }

  /** Files may have changed without anybody's asking: people and programs hear of it, whatever the command is about. */
  private tellRecovered(recovered: RecoveryReport): void {
    if (this.globals.json) this.output.alsoTell({ recovered });
    else this.output.note(recoverySentence(recovered));
  }

  private warn(message: string): void {
    if (this.warned.has(message)) return;
    this.warned.add(message);
    this.output.note(`${this.output.errorStyle.yellow('warning:')} ${visible(sentence(message))} It does not count.`);
  }

  sessions(workspace: WorkspaceApi): Promise<SessionGateway> {
    return this.connect(workspace.folder, workspace.root).then((sessions) => sessions.gateway());
  }

  private async connect(folder: string, root: string): Promise<Sessions> {
    if (!this.connection) {
      const sessions = await openSessions(this.globals, root, folder);
      this.connection = {
        gateway: () => {
          this.output.progress('Connecting to OpenCode…');
          return sessions.gateway();
        },
        allRunning: () => sessions.allRunning(),
        close: () => sessions.close(),
      };
      this.opened.push(this.connection);
    }
    return this.connection;
  }

  async confirm(question: string): Promise<void> {
    // A program that asks for JSON has decided already, and nobody could answer it.
    if (this.globals.yes || this.globals.json) return;
    if (!this.interactive)
      throw new CheckpointsError('needs-confirmation', question.replace(/\?$/, ' needs a confirmation'));
    const answer = await ask(process.stdin, process.stderr, `${question} [y/N] `, this.signal);
    if (!/^\s*y(es)?\s*$/i.test(answer ?? '')) throw new CheckpointsError('cancelled', 'Nothing was changed');
  }

  async confirmByWord(question: string, word: string): Promise<boolean> {
    if (!this.interactive) return false;
    const answer = await ask(process.stdin, process.stderr, `${question} Type "${word}" to go on: `, this.signal);
    return answer?.trim() === word;
  }

  readStdin(): Promise<string> {
    return readText(process.stdin);
  }

  async close(): Promise<void> {
    for (const one of this.opened.reverse()) await one.close();
  }
}
