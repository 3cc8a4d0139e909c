import * as vscode from 'vscode';
import type { BackupApi, BackupReport, BackupStatus } from '../backup/api';
import { bytes } from './actions-store';
import { pickSessions } from './backup-picker';
import { chooseBackupFolder, chooseBackupToRead } from './backup-place';
import { problemText, reportText, restoreReportText } from './backup-text';
import { commands, section, settings } from './ids';
import { plural } from './labels';
import { withCancel, withPatience } from './progress';
import { relativeTime } from './relative-time';
import type { Services } from './services';
import { writeSettings } from './settings';

type Needs = Pick<Services, 'backup' | 'workspaces' | 'log'>;

const ago = (iso: string): string => relativeTime(iso, Date.now(), vscode.env.language);

/** The service, with a destination: asked for where there is none. Undefined: the user gave up. */
const withDestination = async ({ backup, workspaces }: Needs): Promise<BackupApi | undefined> => {
  const api = await backup.api();
  const status = await api.status();
  if (status.state !== 'off') return api;
  if ((await chooseBackupFolder(status)) === undefined) return undefined;
  // The service reads the file, and the event that writes it may come later than this line.
  await Promise.all(workspaces.current.map(writeSettings));
  backup.look();
  return api;
};

export const backUpNow = async (services: Needs): Promise<void> => {
  const api = await withDestination(services);
  if (api === undefined) return;
  const run = (startAnew: boolean): Promise<BackupReport> =>
    services.backup.answering(() =>
      withCancel('Backing up sessions', ({ signal, report }) => {
        const end = api.onDidChangeStatus(({ running }) => running !== null && report(running));
        return api.run({ signal, startAnew }).finally(end);
      }),
    );
  let report = await run(false);
  if (report.problem?.trouble === 'destination-missing' && (await wantsAnew(report))) report = await run(true);
  await tell(services, report);
};

/** The folder that had a backup is gone, or empty: going on by itself could hide that a drive is missing. */
const wantsAnew = async ({ path, problem }: BackupReport): Promise<boolean> => {
  const anew = 'Begin a New Backup';
  const answer = await vscode.window.showWarningMessage(
    'The backup is not where it was.',
    {
      modal: true,
      detail: `${problem?.message ?? ''}\n\n${path}\n\nIf the folder is on a drive that is not connected, connect it and try again.`,
    },
    anew,
  );
  return answer === anew;
};

const tell = async (services: Needs, report: BackupReport): Promise<void> => {
  if (report.problem === null) {
    const show = 'Show Status';
    const answer = await vscode.window.showInformationMessage(reportText(report), show);
    if (answer === show) await showBackupStatus(services);
    return;
  }
  const settingsButton = 'Choose Another Folder';
  const logButton = 'Show Log';
  const text = report.written > 0 ? `${reportText(report)} ` : '';
  const answer = await vscode.window.showWarningMessage(
    `${text}${problemText(report.problem)}`,
    settingsButton,
    logButton,
  );
  if (answer === settingsButton) await openSettings();
  if (answer === logButton) services.log.show();
};

const openSettings = (): Thenable<unknown> =>
  vscode.commands.executeCommand('workbench.action.openSettings', `${section}.${settings.backupPath}`);

/** From the backup of this machine; `elsewhere`, or where there is none, from a folder that the user names. */
export const restoreSessions = async (services: Needs, elsewhere = false): Promise<void> => {
  const api = await services.backup.api();
  const status = await api.status();
  const ask = elsewhere || status.state === 'off';
  const from = ask ? await chooseBackupToRead(status) : undefined;
  if (ask && from === undefined) return;
  const root = await services.backup.root();
  const preview = await withCancel('Looking at the backup', ({ signal }) =>
    api.preview({ from, deleted: true, signal }),
  );
  if (preview.unreadable.length > 0)
    services.log.warn(preview.unreadable.map(({ file, message }) => `${file}: ${message}`).join('\n'));
  if (preview.sessions.length === 0) {
    const damaged =
      preview.unreadable.length > 0 ? ` ${plural(preview.unreadable.length, 'file')} could not be read.` : '';
    vscode.window.showInformationMessage(`There is no session in ${preview.path}.${damaged}`);
    return;
  }
  const here = (directory: string): boolean =>
    directory === root.api.root || root.toRelative(vscode.Uri.file(directory)) !== undefined;
  const chosen = await pickSessions(preview, here);
  if (chosen === undefined) return;
  const known = chosen.sessions.filter(({ state }) => state !== 'new');
  const existing = known.length === 0 ? 'skip' : await askExisting(known.length, chosen.sessions.length);
  if (existing === undefined) return;
  const report = await withCancel('Restoring sessions', ({ signal, report: progress }) => {
    const end = api.onDidChangeStatus(({ running }) => running?.operation === 'restore' && progress(running));
    const sessions = chosen.sessions.map(({ id }) => id);
    return api
      .restore({ from, sessions, versions: chosen.versions, existing, directory: root.api.root, signal })
      .finally(end);
  });
  const [only] = report.restored;
  const open = report.restored.length === 1 && only !== undefined ? 'Open Session' : undefined;
  const show = report.failed.length > 0 ? vscode.window.showWarningMessage : vscode.window.showInformationMessage;
  for (const { id, message } of report.failed) services.log.warn(`session ${id} was not restored: ${message}`);
  const answer = await show(restoreReportText(report), ...(open === undefined ? [] : [open]));
  if (answer !== undefined && answer === open && only !== undefined)
    await root.sessions.open(only.id, only.title ?? only.id);
};

/** Nothing that is there is ever overwritten; a second one beside it is made only if that is wanted. */
const askExisting = async (known: number, all: number): Promise<'skip' | 'copy' | undefined> => {
  const copies = 'Restore as Copies';
  const leave = 'Leave Those Out';
  const answer = await vscode.window.showWarningMessage(
    `OpenCode has ${known === 1 ? 'one of these sessions' : `${known} of these sessions`} already.`,
    { modal: true, detail: 'What is there is not touched. A copy gets an id of its own and stands beside it.' },
    copies,
    ...(known < all ? [leave] : []),
  );
  if (answer === copies) return 'copy';
  return answer === leave ? 'skip' : undefined;
};

interface StatusItem extends vscode.QuickPickItem {
  run?: () => unknown;
}

/** What is saved, where and since when; and what one can do with it. */
export const showBackupStatus = async (services: Needs): Promise<void> => {
  const api = await services.backup.api();
  const status = await withPatience('Looking at the backup', () => api.status());
  const chosen = await vscode.window.showQuickPick(statusItems(services, api, status), {
    title: 'Session Backup',
    placeHolder: status.state === 'off' ? 'Sessions are not backed up' : (status.path ?? ''),
  });
  await chosen?.run?.();
};

const statusItems = (services: Needs, api: BackupApi, status: BackupStatus): StatusItem[] => {
  const run = (command: string) => () => vscode.commands.executeCommand(command);
  if (status.state === 'off')
    return [
      {
        label: '$(cloud-upload) Back Up Sessions…',
        detail: 'Choose a folder; from then on every change of a session is saved there',
        run: run(commands.backUpNow),
      },
      { label: '$(history) Restore Sessions from Backup…', run: run(commands.restoreSessions) },
    ];
  const facts: StatusItem[] = [
    ...(status.problem === null
      ? []
      : [
          {
            label: '$(warning) Not everything is saved',
            detail: problemText(status.problem),
            run: () => services.log.show(),
          },
        ]),
    {
      label: `$(comment-discussion) ${plural(status.sessions, 'session')}`,
      description: [
        status.ownSessions === status.sessions ? '' : `${status.ownSessions} of this machine`,
        status.machines > 1 ? `${status.machines} machines` : '',
        status.deletedSessions > 0 ? `${status.deletedSessions} deleted ones kept` : '',
        bytes(status.bytes),
      ]
        .filter((part) => part !== '')
        .join(' · '),
    },
    {
      label: `$(history) ${status.lastSuccessAt === null ? 'Nothing saved yet' : `Saved ${ago(status.lastSuccessAt)}`}`,
      description: [
        status.state === 'running' ? 'at work now' : '',
        status.state === 'pending' ? 'changes are waiting' : '',
        services.backup.isFollowing
          ? 'every change is saved by itself'
          : 'no running server is followed by this window',
      ]
        .filter((part) => part !== '')
        .join(' · '),
    },
    {
      label: `$(folder) ${status.path ?? ''}`,
      description: `set by ${status.source === 'setting' ? 'your settings' : (status.source ?? '')}`,
      run: () => vscode.env.openExternal(vscode.Uri.file(status.path ?? '')),
    },
  ];
  return [
    ...facts,
    { label: 'What to do', kind: vscode.QuickPickItemKind.Separator },
    { label: '$(cloud-upload) Back Up Sessions Now', run: run(commands.backUpNow) },
    { label: '$(cloud-download) Restore Sessions from Backup…', run: run(commands.restoreSessions) },
    {
      label: '$(folder-opened) Restore Sessions from Another Folder…',
      detail: 'Another machine’s backup, or an old one of JSON files',
      run: () => restoreSessions(services, true),
    },
    {
      label: '$(verified) Verify the Backup',
      detail: 'Reads every file and compares it with its checksum',
      run: () => verify(services, api),
    },
    { label: '$(gear) Settings', run: openSettings },
  ];
};

const verify = async (services: Needs, api: BackupApi): Promise<void> => {
  const {
    checked,
    bytes: size,
    damaged,
  } = await withCancel('Verifying the backup', ({ signal, report }) => {
    const end = api.onDidChangeStatus(({ running }) => running?.operation === 'verify' && report(running));
    return api.verify({ signal }).finally(end);
  });
  if (damaged.length === 0) {
    vscode.window.showInformationMessage(`The backup is whole: ${plural(checked, 'file')}, ${bytes(size)}.`);
    return;
  }
  for (const { file, problem } of damaged) services.log.warn(`backup: ${file} is ${problem}`);
  const again = 'Back Up Again';
  const answer = await vscode.window.showWarningMessage(
    `${plural(damaged.length, 'file')} of ${checked} ${damaged.length === 1 ? 'is' : 'are'} damaged: ${damaged[0]?.file ?? ''}. Older versions stay usable.`,
    again,
    'Show Log',
  );
  if (answer === again) await backUpNow(services);
  if (answer === 'Show Log') services.log.show();
};
