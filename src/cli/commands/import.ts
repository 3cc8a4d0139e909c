import type { Command } from 'commander';
import { define, type Invocation, type Reply, type Select } from '../command';
import { UsageError } from '../usage';
import { fetchReply } from '../views/sync';
import { syncOptions } from './sync';

interface ImportFlags {
  from?: string;
}

/**
 * What other tools kept, by the name given to `--from`. An importer gets the path that was named, if any, and answers like every
 * command.
 */
export type ForeignImporter = (invocation: Invocation, path: string | undefined) => Promise<Reply>;
export const foreignImporters: Readonly<Record<string, ForeignImporter>> = {};

export function registerImportCommand(program: Command, select: Select): void {
  define<[string?], ImportFlags>(program, select, {
    usage: 'import [file]',
    summary: 'take in the checkpoints of a file that `export` wrote',
    details:
      'They live apart from the checkpoints of this workspace and carry their origin. Importing the same file again changes nothing.',
    examples: ['opencode-checkpoints import friday.bundle'],
    options: (command) =>
      command.option('--from <tool>', "import another tool's data instead (the path is optional then)"),
    run: async (invocation, [file], { from }) => {
      if (from !== undefined) return importFrom(invocation, from, file);
      if (file === undefined)
        throw new UsageError("missing required argument 'file'", 'See `opencode-checkpoints import --help`.');
      const workspace = await invocation.open();
      return fetchReply(await workspace.sync.importBundle(file, syncOptions(invocation)));
    },
  });
}

function importFrom(invocation: Invocation, from: string, path: string | undefined): Promise<Reply> {
  const importer = Object.hasOwn(foreignImporters, from) ? foreignImporters[from] : undefined;
  if (importer) return importer(invocation, path);
  const known = Object.keys(foreignImporters).join(', ') || 'nothing yet';
  throw new UsageError(`--from ${from}: what can be imported is ${known}`, 'See `opencode-checkpoints import --help`.');
}
