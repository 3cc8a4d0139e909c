import * as vscode from 'vscode';
import { CheckpointsError, type Reason } from '../core/errors';
import { commands, section } from './ids';
import { withoutLinks } from './labels';

/** A sentence for a person, and what they can do next. The error's own message follows it. */
export interface Advice {
  sentence: string;
  wayOut: string;
  action?: { title: string; command: string; args?: unknown[] };
}

const openLog = { title: 'Show Log', command: commands.showLog };
const doctor = { title: 'Run Doctor', command: commands.doctor };
const settingsOf = (key: string) => ({
  title: 'Open Settings',
  command: 'workbench.action.openSettings',
  args: [`${section}.${key}`],
});

export const advice: Record<Reason, Advice> = {
  'unknown-reference': {
    sentence: 'This checkpoint does not exist any more.',
    wayOut: 'It may have been deleted or cleaned up; the list shows what there is.',
    action: { title: 'Refresh', command: commands.refresh },
  },
  'ambiguous-reference': {
    sentence: 'More than one checkpoint begins with this id.',
    wayOut: 'Use more characters of the id.',
  },
  // Its own words say what is wrong and what to do.
  'invalid-argument': { sentence: 'This is not possible.', wayOut: '' },
  'refused-root': {
    sentence: 'Checkpoints are not kept for this folder.',
    wayOut: 'Open a project folder instead.',
    action: { title: 'Open Folder…', command: 'vscode.openFolder' },
  },
  'git-missing': {
    sentence: 'Git was not found.',
    wayOut: 'Install Git 2.31 or newer, make sure it is on the PATH of VS Code, and reload the window.',
    action: { title: 'Reload Window', command: 'workbench.action.reloadWindow' },
  },
  'git-failed': { sentence: 'Git failed.', wayOut: 'The log has its full answer.', action: openLog },
  'store-broken': {
    sentence: 'The checkpoint store could not be read.',
    wayOut: 'Run the doctor: it repairs what can be repaired and names the rest.',
    action: doctor,
  },
  'store-readonly': {
    sentence: 'The store cannot be written.',
    wayOut: 'Check the permissions of its folder, or choose another one.',
    action: settingsOf('storeLocation'),
  },
  'workspace-readonly': {
    sentence: 'The workspace cannot be written.',
    wayOut: 'Nothing was changed. Check the permissions of its folder.',
  },
  'disk-full': {
    sentence: 'The disk is full.',
    wayOut: 'Nothing was changed. Free some space; cleaning up the store may help.',
    action: { title: 'Clean Up Store', command: commands.cleanUp },
  },
  busy: {
    sentence: 'Another process is working on these checkpoints.',
    wayOut: 'Wait until it has finished, then try again.',
  },
  timeout: {
    sentence: 'This took too long and was given up.',
    wayOut: 'Try again; large folders that need no checkpoints can be excluded.',
    action: settingsOf('exclude'),
  },
  cancelled: { sentence: 'Cancelled.', wayOut: 'Nothing was changed.' },
  conflict: {
    sentence: 'Something changed it meanwhile.',
    wayOut: 'Look again, then repeat it.',
  },
  'mass-delete': {
    sentence: 'This restore would delete a large part of the workspace.',
    wayOut: 'Restore again and confirm the deletion, or choose single files.',
  },
  'nothing-to-undo': {
    sentence: 'There is no restore to undo.',
    wayOut: 'Every restore can be undone once it is made.',
  },
  'nothing-to-redo': {
    sentence: 'There is nothing to redo.',
    wayOut: 'Redo works directly after an undo.',
  },
  'no-conversation': {
    sentence: 'This checkpoint has no conversation.',
    wayOut: 'Restore its files or its task instead.',
  },
  'no-task': { sentence: 'This checkpoint has no task state.', wayOut: 'Restore its files instead.' },
  'no-files': { sentence: 'This checkpoint has no files.', wayOut: 'Restore its conversation or its task instead.' },
  'not-in-checkpoint': {
    sentence: 'The checkpoint does not have this file.',
    wayOut: 'It did not exist then, or it is excluded from checkpoints.',
    action: settingsOf('exclude'),
  },
  'untrusted-tree': {
    sentence: 'This checkpoint came from elsewhere and holds paths that are not safe to write.',
    wayOut: 'Nothing was changed. Restore single files of it instead.',
  },
  'untrusted-folder': {
    sentence: 'This folder is not trusted.',
    wayOut: 'Trust it first.',
    action: { title: 'Manage Workspace Trust', command: 'workbench.trust.manage' },
  },
  'remote-failed': {
    sentence: 'The git remote did not do what was asked of it.',
    wayOut: 'Nothing here was changed. See that git reaches it from a terminal, then try again.',
    action: openLog,
  },
  'server-unreachable': {
    sentence: 'No OpenCode server answers.',
    wayOut: 'Files and task can be restored without it. Start OpenCode, or check its address.',
    action: settingsOf('opencode.serverUrl'),
  },
  'server-failed': {
    sentence: 'The OpenCode server refused the request.',
    wayOut: 'The log has its answer.',
    action: openLog,
  },
  'opencode-missing': {
    sentence: 'OpenCode was not found.',
    wayOut: 'Files and task work without it. Install OpenCode, or set its path.',
    action: settingsOf('opencode.path'),
  },
  'opencode-too-old': {
    sentence: 'This version of OpenCode is too old.',
    wayOut: 'Update it to 1.18 or newer.',
  },
  'session-missing': {
    sentence: 'The session of this checkpoint does not exist any more.',
    wayOut:
      'What it has of files and task can still be restored; the session itself comes back from a backup, if there is one.',
    action: { title: 'Restore Sessions from Backup…', command: commands.restoreSessions },
  },
  'session-busy': {
    sentence: 'The agent is still working in this session.',
    wayOut: 'Stop it in OpenCode first, then restore again.',
  },
  'message-missing': {
    sentence: 'The message at which this checkpoint was made is gone.',
    wayOut: 'Its files and its task can still be restored.',
  },
  'fork-mismatch': {
    sentence: 'OpenCode did not copy exactly the messages of this checkpoint.',
    wayOut: 'The original session is unchanged. Files and task can be restored without it.',
    action: openLog,
  },
  'needs-confirmation': {
    sentence: 'This has to be confirmed first.',
    wayOut: 'Run the command again and confirm it.',
  },
  'not-supported': {
    sentence: 'This is not possible here.',
    wayOut: 'The log says why.',
    action: openLog,
  },
  'no-backup': {
    sentence: 'Sessions are not backed up.',
    wayOut: 'Name a folder for the backup, one that a cloud client keeps for instance.',
    action: settingsOf('backup.path'),
  },
  'backup-failed': {
    sentence: 'The session backup failed.',
    wayOut: 'Nothing that was saved is harmed.',
    action: openLog,
  },
};

/** Of a window without a folder, whatever was asked for. */
export const noFolder = (): CheckpointsError =>
  new CheckpointsError('invalid-argument', 'Open a folder first: checkpoints belong to one.', {
    details: { noFolder: true },
  });

const serverUrl = settingsOf('opencode.serverUrl');

/** What the reason alone does not tell: no folder, a place without a backup, a server that was reached and is of no use, a program that does not fit it. */
const particularAdvice = ({ reason, details }: CheckpointsError): Advice | null => {
  if (reason === 'no-backup' && details?.['path'])
    return {
      sentence: 'There is no session backup.',
      wayOut: 'Look whether the path is right and its drive is connected, or choose the folder that holds the backup.',
    };
  if (details?.['notOurs'] || details?.['plugin'])
    return {
      sentence: 'The plugin cannot be put there.',
      wayOut: details['plugin'] ? 'Check the permissions of the folder, or choose the other place.' : '',
    };
  if (details?.['forbidden']) return { ...advice['store-readonly'], sentence: 'The store may not be read.' };
  if (details?.['gone'])
    return {
      ...advice['refused-root'],
      // Its own words name the folder.
      sentence: 'The folder.',
      wayOut: 'Its checkpoints are: make the folder again and restore one of them, or open another folder.',
    };
  if (details?.['noFolder'])
    return {
      ...advice['invalid-argument'],
      action: { title: 'Open Folder…', command: 'vscode.openFolder' },
    };
  if (details?.['unauthorized'])
    return {
      sentence: 'The OpenCode server wants a password.',
      wayOut:
        'Write it into the address (http://opencode:PASSWORD@HOST:PORT), or start VS Code with OPENCODE_SERVER_PASSWORD set.',
      action: serverUrl,
    };
  if (details?.['foreign'])
    return { sentence: 'This is not an OpenCode server.', wayOut: 'Check its address.', action: serverUrl };
  if (details?.['otherProgram'])
    return {
      sentence: 'This session cannot be shown here.',
      wayOut: 'Open it in that OpenCode, or name its program in the setting opencode.path.',
      action: settingsOf('opencode.path'),
    };
  if (details?.['unreadable'])
    return {
      sentence: 'The OpenCode server gave an answer that cannot be read.',
      wayOut:
        'Files and task can be restored without it. Update OpenCode and this extension; where something stands between them, name the server itself.',
      action: serverUrl,
    };
  return null;
};

const adviceFor = (error: CheckpointsError): Advice => particularAdvice(error) ?? advice[error.reason];

/** The sentence, the particular (unless it only repeats it) and the way out. */
export const explain = (error: CheckpointsError): string => {
  const { sentence, wayOut } = adviceFor(error);
  const detail = error.message.trim();
  if (detail === '' || sentence.startsWith(detail)) return `${sentence} ${wayOut}`.trim();
  const particular = /[.!?…]$/.test(detail) ? detail : `${detail}.`;
  // "Git was not found." need not go before "git was not found on PATH."
  const says = wayOut === '' || detail.toLowerCase().startsWith(sentence.slice(0, -1).toLowerCase());
  return (
    says
      ? `${particular.charAt(0).toUpperCase()}${particular.slice(1)} ${wayOut}`
      : `${sentence} ${particular} ${wayOut}`
  ).trim();
};

/** What was refused is told on the screen, and is no failure: only of what failed beneath, or was not foreseen, the stack helps anybody. */
const writeDown = (error: unknown, log: vscode.LogOutputChannel): void => {
  if (error instanceof CheckpointsError && error.cause === undefined) log.warn(`${error.reason}: ${error.message}`);
  else log.error(error instanceof Error ? error : String(error));
};

/** Shows what went wrong, once, with its way out as a button. A cancelled operation is not worth a message. */
export const showError = async (error: unknown, log: vscode.LogOutputChannel): Promise<void> => {
  writeDown(error, log);
  if (!(error instanceof CheckpointsError)) {
    const message = error instanceof Error ? error.message : String(error);
    const chosen = await vscode.window.showErrorMessage(`Checkpoints: ${withoutLinks(message)}`, openLog.title);
    if (chosen === openLog.title) await vscode.commands.executeCommand(openLog.command);
    return;
  }
  if (error.reason === 'cancelled') return;
  const { action } = adviceFor(error);
  const buttons = action === undefined ? [] : [action.title];
  const chosen = await vscode.window.showErrorMessage(withoutLinks(explain(error)), ...buttons);
  if (action !== undefined && chosen === action.title)
    await vscode.commands.executeCommand(action.command, ...(action.args ?? []));
};
