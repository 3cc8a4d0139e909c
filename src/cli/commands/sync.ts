import type { Command } from 'commander';
import type { SyncOptions, SyncPhase } from '../../core/sync';
import { define, type Invocation, type Select } from '../command';
import { addGlobals } from '../globals';
import { tellLost } from '../views/lost';
import { fetchReply, pushReply } from '../views/sync';

interface PushFlags {
  all?: boolean;
  sessions: boolean;
}

export function registerSyncCommands(program: Command, select: Select): void {
  const group = addGlobals(program.command('sync'))
    .summary('checkpoints to and from a git remote: push, fetch')
    .description(
      'Checkpoints to and from a git remote.\n\nThe remote is a folder, an address, or the name of a remote of your repository. Your own git credentials are used.',
    )
    .enablePositionalOptions();
  define<[string, ...string[]], PushFlags>(group, select, {
    usage: 'push <remote> [ref...]',
    summary: 'send checkpoints of this workspace, with their sessions',
    details:
      'Without references: what people and agents made, turns, and everything named or pinned. What was deleted here is deleted there as well, but never what others have pushed. Excluded files stay here, even when a checkpoint holds them.',
    examples: [
      'opencode-checkpoints sync push origin',
      'opencode-checkpoints sync push git@example.org:team/checkpoints.git "before the refactoring"',
    ],
    options: (command) =>
      command
        .option('--all', 'also the automatic points of tools, tasks and restores')
        .option('--no-sessions', 'leave the conversations here'),
    run: async (invocation, [remote, ...references], { all, sessions }) => {
      const workspace = await invocation.open({ begins: 'late' });
      const pushed = await workspace.sync.push(remote, {
        ...syncOptions(invocation),
        ...(references.length > 0 ? { references } : {}),
        all: all ?? false,
        sessions,
      });
      tellLost(invocation, workspace);
      return pushReply(pushed);
    },
  });
  define<[string]>(group, select, {
    usage: 'fetch <remote>',
    summary: 'take in what others have pushed',
    details: 'It appears in `list` with its origin; `latest` never means it. Nothing of this workspace is changed.',
    examples: ['opencode-checkpoints sync fetch origin'],
    run: async (invocation, [remote]) => {
      const workspace = await invocation.open({ begins: 'late' });
      return fetchReply(await workspace.sync.fetch(remote, syncOptions(invocation)));
    },
  });
}

const phases: Record<SyncPhase, string> = {
  preparing: 'Preparing',
  sessions: 'Reading sessions',
  connecting: 'Connecting',
  sending: 'Sending',
  receiving: 'Receiving',
  checking: 'Checking',
};

export function syncOptions(invocation: Invocation): SyncOptions {
  return {
    cwd: invocation.globals.cwd,
    interactive: invocation.interactive,
    signal: invocation.signal,
    onProgress: ({ phase, done, total }) =>
      invocation.output.progress(`${phases[phase]}… ${total === null ? '' : `${done} of ${total}`}`),
  };
}
