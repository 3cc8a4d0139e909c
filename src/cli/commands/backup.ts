import path from 'node:path';
import type { Command } from 'commander';
import type { BackupProblem, RestoreRequest } from '../../backup/api';
import { CheckpointsError } from '../../core/errors';
import { collect, define, type Invocation, type Reply, type Select } from '../command';
import { addGlobals } from '../globals';
import { withBackup } from '../backup';
import { parseExisting } from '../values';
import { previewView, reportView, restoredView, statusView, verifyView } from '../views/backup';
import { plural } from '../views/plural';

interface RestoreFlags {
  dryRun?: boolean;
  from?: string;
  project?: string;
  existing?: string;
  pick?: string[];
}

export function registerBackupCommands(program: Command, select: Select): void {
  const group = addGlobals(program.command('backup'))
    .summary("OpenCode's sessions in a folder of yours: run, status, restore, verify")
    .description(
      "OpenCode's sessions in a folder of yours, on another drive or kept by a cloud client: OPENCODE_BACKUP_PATH, or `backup.path` in the global configuration.",
    )
    .enablePositionalOptions();

  define<[], { init?: boolean }>(group, select, {
    usage: 'run',
    summary: 'save the sessions that changed',
    details:
      'All projects of the OpenCode server. A session that you deleted moves to `deleted/`; older versions stay.',
    examples: [
      'opencode-checkpoints backup run',
      'OPENCODE_BACKUP_PATH=~/Dropbox/opencode opencode-checkpoints backup run',
    ],
    options: (command) =>
      command.option(
        '--init',
        'begin a new backup although the one that was there is gone (a drive that is not connected?)',
      ),
    run: (invocation, _args, { init }) =>
      withBackup(invocation, async (backup) => {
        const report = await backup.run({ startAnew: init ?? false, signal: invocation.signal });
        const failed = report.problem !== null;
        if (report.problem && report.sessions === 0) throw refused(report.problem);
        return { json: { backup: report }, text: (output) => reportView(report, output), exitCode: failed ? 1 : 0 };
      }),
  });

  define(group, select, {
    usage: 'status',
    summary: 'where sessions are saved, how many, and when last',
    details: 'Needs no OpenCode.',
    examples: ['opencode-checkpoints backup status'],
    run: (invocation) =>
      withBackup(invocation, async (backup) => {
        const status = await backup.status();
        return { json: { backup: status }, text: (output) => statusView(status, output) };
      }),
  });

  define<string[], RestoreFlags>(group, select, {
    usage: 'restore [id...]',
    summary: 'sessions of the backup back onto the server, into the project of this folder',
    details:
      'Without an ID all of them. Sub-agents come with the session that started them. What the server has is left as it is, or comes in beside it under new ids with `--existing copy`; nothing is overwritten. Where the newest version is damaged the one before is taken.',
    examples: [
      'opencode-checkpoints backup restore --dry-run',
      'opencode-checkpoints backup restore ses_0123abcd',
      'opencode-checkpoints backup restore --from ~/old-backup --yes',
    ],
    options: (command) =>
      command
        .option('--dry-run', 'show what is in the backup and how it stands to the server')
        .option('--from <dir>', "another backup, or an old one of OpenCode's JSON folders")
        .option('--project <id>', 'only sessions of this project')
        .option('--existing <what>', 'sessions that are there already: skip or copy (default: skip)')
        .option('--pick <file>', 'a certain version, as `--dry-run --json` names it (repeatable)', collect),
    run: (invocation, ids, flags) => restore(invocation, ids, flags),
  });

  define(group, select, {
    usage: 'verify',
    summary: 'read every file of the backup and say which are damaged',
    examples: ['opencode-checkpoints backup verify'],
    run: (invocation) =>
      withBackup(invocation, async (backup) => {
        const report = await backup.verify({ signal: invocation.signal });
        const failed = report.damaged.length > 0;
        return { json: { backup: report }, text: (output) => verifyView(report, output), exitCode: failed ? 1 : 0 };
      }),
  });
}

/** Nothing could be done at all. What was done in part is a report, with exit code 1. */
function refused({ trouble, message }: BackupProblem): CheckpointsError {
  const reason = trouble === 'off' ? 'no-backup' : trouble === 'busy' ? 'busy' : 'backup-failed';
  return new CheckpointsError(reason, message, { details: { trouble } });
}

function restore(invocation: Invocation, ids: string[], flags: RestoreFlags): Promise<Reply> {
  return withBackup(invocation, async (backup) => {
    const existing = parseExisting(flags.existing);
    const from = placeOf(flags.from, invocation.globals.cwd);
    const preview = await backup.preview({ from, signal: invocation.signal });
    const wanted = preview.sessions.filter(
      ({ id, deleted, projectId }) =>
        (ids.length > 0 ? ids.includes(id) : !deleted) && (flags.project === undefined || projectId === flags.project),
    );
    if (flags.dryRun) {
      const shown = { ...preview, sessions: wanted };
      return { json: { backup: shown }, text: (output) => previewView(shown, output) };
    }
    const request: RestoreRequest = {
      ...(ids.length > 0 ? { sessions: ids } : {}),
      project: flags.project,
      from,
      existing,
      versions: versionsOf(flags.pick ?? []),
      signal: invocation.signal,
    };
    const fresh = wanted.filter(({ state }) => state === 'new').length;
    const there = existing === 'copy' ? wanted.length - fresh : 0;
    const copies = there > 0 ? ` and ${there === 1 ? 'a copy' : `${there} copies`} of what is there already` : '';
    if (fresh + there > 0)
      await invocation.confirm(`Restoring ${plural(fresh, 'session')}${copies} from ${preview.path}?`);
    const report = await backup.restore(request);
    const failed = report.failed.length > 0;
    return { json: { backup: report }, text: (output) => restoredView(report, output), exitCode: failed ? 1 : 0 };
  });
}

/** Read from here, as every path of a command line. A shell leaves `~` alone where it is quoted. */
const placeOf = (given: string | undefined, cwd: string): string | undefined =>
  given === undefined || given === '' || /^~(?=[/\\]|$)/.test(given) ? given : path.resolve(cwd, given);

/** `versions/<project>/<session>/….json` names its session. */
function versionsOf(files: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    files.map((file) => {
      const id = /(?:^|\/)(ses[A-Za-z0-9_-]*)(?:\/|\.json$)/.exec(file)?.[1];
      if (id === undefined)
        throw new CheckpointsError('invalid-argument', `No session is named by the version ${file}`);
      return [id, file];
    }),
  );
}
