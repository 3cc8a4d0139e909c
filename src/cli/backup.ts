import { existsSync } from 'node:fs';
import path from 'node:path';
import type { BackupApi } from '../backup/api';
import { loadConfig, storeHome } from '../core/config';
import { CheckpointsError } from '../core/errors';
import type { SessionGateway } from '../core/sessions';
import type { Invocation } from './command';
import { sentence } from './sentences';
import { openSessions, type Sessions } from './sessions';

/**
 * A command on the backup. It needs no workspace's store: sessions are saved from any folder, also from one that has no checkpoints. OpenCode is
 * looked for, or started, when it is asked for something.
 */
export async function withBackup<T>(invocation: Invocation, work: (backup: BackupApi) => Promise<T>): Promise<T> {
  const { globals, output } = invocation;
  const { BackupService } = await import('../backup/service');
  const { workspaceFolder } = await import('../git/roots');
  const home = storeHome();
  const root = await rootOf(globals.cwd, home);
  const folder = workspaceFolder(home, root);
  if (existsSync(path.join(folder, 'workspace.json'))) await recover(invocation);
  let sessions: Sessions | null = null;
  const gateway = async (): Promise<SessionGateway> => {
    output.progress('Connecting to OpenCode…');
    sessions ??= await openSessions(globals, root, folder);
    return sessions.gateway();
  };
  const backup = new BackupService({ root, home, gateway, config: () => loadConfig(root, folder).config });
  const verbs = { backup: 'Saving', restore: 'Restoring', verify: 'Checking' } as const;
  backup.onDidChangeStatus(({ running }) => {
    if (running && running.total > 0)
      output.progress(`${verbs[running.operation]} ${running.done} of ${running.total}…`);
  });
  try {
    return await work(backup);
  } finally {
    await backup.close();
    // Assigned in a closure, which the compiler does not follow.
    await (sessions as Sessions | null)?.close();
  }
}

/** Where there is a store, a restore that died is finished, as by any command. Sessions are saved even if that fails. */
async function recover(invocation: Invocation): Promise<void> {
  try {
    await invocation.open();
  } catch (error) {
    if (!CheckpointsError.is(error)) throw error;
    if (!invocation.globals.json) invocation.output.note(sentence(error.message));
  }
}

/** A folder that gets no checkpoints, a home folder for instance, has sessions all the same. */
async function rootOf(directory: string, home: string): Promise<string> {
  const { resolveRoot } = await import('../git/roots');
  try {
    return await resolveRoot(directory, home);
  } catch (error) {
    if (CheckpointsError.is(error, 'refused-root') || CheckpointsError.is(error, 'git-missing')) return directory;
    throw error;
  }
}
