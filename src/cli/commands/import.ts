import type { Command } from 'commander';
import { sourceNames, sources, type Source } from '../../imports/model';
import { define, type Select } from '../command';
import { UsageError } from '../usage';
import { fetchReply } from '../views/sync';
import { importOld, isSource, type ImportFlags } from './import-old';
import { syncOptions } from './sync';

interface Flags extends ImportFlags {
  from?: string;
}

const contents: Record<Source, string> = {
  s1: 'checkpoints.db, bookmarks in conversations',
  s2: '.opencode/state, task states',
  s4: 'old session backups, back into OpenCode',
  s5: 'manifests, first versions of files',
};

export function registerImportCommand(program: Command, select: Select): void {
  define<[string?], Flags>(program, select, {
    usage: 'import [file]',
    summary: 'take in a file that `export` wrote, or what an older tool kept',
    details: `The checkpoints of a file live apart from those of this workspace and carry their origin. Importing the same file again changes nothing.

With --from, what an older tool kept for this workspace; the path is optional then:
${sources.map((name) => `  ${name}  ${sourceNames[name]}: ${contents[name]}`).join('\n')}`,
    examples: [
      'opencode-checkpoints import friday.bundle',
      'opencode-checkpoints import --from s1 --dry-run',
      'opencode-checkpoints import --from s4 ~/Drive/opencode-sessions',
    ],
    options: (command) =>
      command
        .option('--from <tool>', `import an older tool's data instead: ${sources.join(', ')}`)
        .option('--dry-run', 'with --from: show what would be imported, change nothing'),
    run: async (invocation, [file], { from, dryRun }) => {
      if (from !== undefined) return importOld(invocation, sourceOf(from), file, { dryRun });
      if (dryRun) throw new UsageError('--dry-run goes with --from', 'See `opencode-checkpoints import --help`.');
      if (file === undefined)
        throw new UsageError("missing required argument 'file'", 'See `opencode-checkpoints import --help`.');
      const workspace = await invocation.open({ begins: 'late' });
      return fetchReply(await workspace.sync.importBundle(file, syncOptions(invocation)));
    },
  });
}

function sourceOf(from: string): Source {
  if (isSource(from)) return from;
  const known = sources.map((name) => `${name} (${sourceNames[name]})`).join(', ');
  throw new UsageError(`--from ${from}: what can be imported is ${known}`, 'See `opencode-checkpoints import --help`.');
}
