import { build } from 'esbuild';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GatewayConversation } from '../../src/core/conversation';
import type { Checkpoint } from '../../src/core/model';
import type { SessionGateway } from '../../src/core/sessions';
import type { Workspace } from '../../src/core/workspace';
import { openWorkspace } from '../../src/git/open';
import { startOpenCode, until, type OpenCode, type OpenCodeOptions } from '../rig/opencode';
import type { RecordedRequest } from '../rig/scripted-model';

/** The plugin as it ships, in one file. The folder is the caller's to remove. */
export async function buildPlugin(): Promise<{ file: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'plugin-build-'));
  const file = join(folder, 'opencode-checkpoints.js');
  await build({
    entryPoints: ['src/plugin/main.ts'],
    outfile: file,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    logLevel: 'warning',
  });
  return { file, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** A real server with the plugin loaded, and a view on its store that is not the plugin's. */
export class PluginRig {
  private constructor(
    readonly server: OpenCode,
    private readonly remove: () => Promise<void>,
  ) {}

  static async start(options: OpenCodeOptions): Promise<PluginRig> {
    const plugin = await buildPlugin();
    try {
      return new PluginRig(await startOpenCode({ ...options, plugins: [plugin.file] }), plugin.remove);
    } catch (error) {
      await plugin.remove();
      throw error;
    }
  }

  async dispose(): Promise<void> {
    await this.server.dispose();
    await this.remove();
  }

  /** With a gateway it can ask who is at work. */
  async open<T>(look: (workspace: Workspace) => Promise<T>, gateway?: SessionGateway): Promise<T> {
    const workspace = await openWorkspace({
      directory: this.server.workspace,
      home: join(this.server.home, 'data', 'opencode-checkpoints'),
      conversation: gateway && ((_folder, root) => conversationOver(root, gateway)),
    });
    try {
      return await look(workspace);
    } finally {
      await workspace.close();
    }
  }

  /** Oldest first. */
  list(session?: string): Promise<Checkpoint[]> {
    return this.open(async (workspace) => (await workspace.list(session === undefined ? {} : { session })).reverse());
  }

  /** A file's content at a checkpoint; null when it was not there. */
  at(checkpoint: Checkpoint | undefined, path: string): Promise<string | null> {
    return this.open(async (workspace) => {
      if (!checkpoint) throw new Error(`there is no such checkpoint to look for ${path} in`);
      if ((await workspace.stat(checkpoint.id, path)) === null) return null;
      return Buffer.from(await workspace.cat(checkpoint.id, path)).toString('utf8');
    });
  }

  /** Events come a moment after the session is called idle. */
  eventually(session: string, test: (checkpoints: Checkpoint[]) => boolean, what: string): Promise<Checkpoint[]> {
    return until(
      async () => {
        const found = await this.list(session);
        return test(found) && found;
      },
      30_000,
      () => `never came: ${what}`,
    );
  }

  /** What the tools answered in the last turn, in the order of the calls. */
  answers(): string[] {
    return answersIn(this.server.model.requests.filter(({ kind }) => kind === 'turn').at(-1));
  }
}

function conversationOver(root: string, gateway: SessionGateway): GatewayConversation {
  const asked = (): Promise<SessionGateway> => Promise.resolve(gateway);
  return new GatewayConversation(root, asked, null, async () => [await asked()]);
}

export function answersIn(request: RecordedRequest | undefined): string[] {
  const messages = request?.messages ?? [];
  const prompt = messages.findLastIndex(({ role }) => role === 'user');
  return messages
    .slice(prompt)
    .filter(({ role }) => role === 'tool')
    .map(({ content }) =>
      typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join('\n'),
    );
}
