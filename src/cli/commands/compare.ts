import type { Command } from 'commander';
import type { WorkspaceApi } from '../../core/api';
import { CheckpointsError } from '../../core/errors';
import { wellFormed } from '../../core/text';
import { collect, define, type Select } from '../command';
import { changeTable, paintPatch } from '../views/changes';
import { workspacePath, workspacePaths } from '../workspace-path';

interface DiffFlags {
  path?: string[];
  patch?: boolean;
}

export function registerCompareCommands(program: Command, select: Select): void {
  define<[string?, string?], DiffFlags>(program, select, {
    usage: 'diff [from] [to]',
    summary: 'what changed from one checkpoint to another, or to the working files',
    details: 'FROM left out is `latest`, TO left out are the working files.',
    examples: [
      'opencode-checkpoints diff',
      'opencode-checkpoints diff latest~1 latest',
      'opencode-checkpoints diff "before the refactoring" --path src --patch',
    ],
    options: (command) =>
      command
        .option('--path <path>', 'only this file or folder (repeatable)', collect)
        .option('--patch', 'the lines, too'),
    run: async (invocation, [from, to], flags) => {
      const workspace = await invocation.open();
      const first = await workspace.resolve(from ?? 'latest');
      const second = to === undefined ? undefined : await workspace.resolve(to);
      const ids = second ? [first.id, second.id] : [first.id];
      const paths = await workspacePaths(workspace.root, invocation.globals.cwd, flags.path, inAny(workspace, ids));
      const diff = await workspace.diff(first.id, second?.id, { paths, patch: flags.patch ?? false });
      const { patch, ...rest } = diff;
      return {
        json: flags.patch ? { ...rest, patch: wellFormed(patch ?? '') } : rest,
        text: (output) =>
          flags.patch ? paintPatch(patch ?? '', output.style, output.isTerminal) : changeTable(diff.changes, output),
      };
    },
  });

  define<[string, string]>(program, select, {
    usage: 'cat <ref> <path>',
    summary: "a file's bytes as the checkpoint has them",
    details: 'With --json: {path, size, encoding: "utf8" | "base64", content}.',
    examples: [
      'opencode-checkpoints cat latest src/main.ts',
      'opencode-checkpoints cat cp_01jabcdef logo.png > logo.png',
    ],
    run: async (invocation, [reference, given]) => {
      const workspace = await invocation.open();
      const { id } = await workspace.resolve(reference);
      const { root } = workspace;
      const knows = async (path: string): Promise<boolean> => (await workspace.stat(id, path)) !== null;
      const path = await workspacePath(root, invocation.globals.cwd, given, knows, { disk: false });
      const kind = (await workspace.stat(id, path))?.kind;
      if (kind === 'folder') throw new CheckpointsError('not-in-checkpoint', `${given} is a folder in ${id}`);
      const bytes = await workspace.cat(id, path);
      return { json: { path, size: bytes.length, ...encode(bytes) }, text: () => bytes };
    },
  });
}

export function inAny(workspace: WorkspaceApi, ids: string[]): (path: string) => Promise<boolean> {
  return async (path) => {
    for (const id of ids) if ((await workspace.stat(id, path)) !== null) return true;
    return false;
  };
}

/** Bytes that are not text would not survive a JSON string. */
function encode(bytes: Uint8Array): { encoding: 'utf8' | 'base64'; content: string } {
  try {
    return { encoding: 'utf8', content: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return { encoding: 'base64', content: Buffer.from(bytes).toString('base64') };
  }
}
