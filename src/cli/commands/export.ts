import type { Command } from 'commander';
import { define, type Select } from '../command';
import { UsageError } from '../usage';
import { exportReply } from '../views/sync';
import { syncOptions } from './sync';

interface ExportFlags {
  out?: string;
  sessions: boolean;
}

export function registerExportCommand(program: Command, select: Select): void {
  define<string[], ExportFlags>(program, select, {
    usage: 'export <ref...>',
    summary: 'write checkpoints and their sessions to one file, for `import` elsewhere',
    details: 'The file is a git bundle. Excluded files stay here, even when a checkpoint holds them.',
    examples: ['opencode-checkpoints export latest "before the refactoring" --out friday.bundle'],
    options: (command) =>
      command.option('--out <file>', 'the file to write').option('--no-sessions', 'leave the conversations here'),
    run: async (invocation, references, { out, sessions }) => {
      if (out === undefined || out === '')
        throw new UsageError('--out FILE says where to write it', 'See `opencode-checkpoints export --help`.');
      const workspace = await invocation.open();
      return exportReply(await workspace.sync.exportBundle(references, out, { ...syncOptions(invocation), sessions }));
    },
  });
}
