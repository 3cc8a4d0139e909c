import * as vscode from 'vscode';
import { listedOn } from '../core/current-session';
import { CheckpointsError } from '../core/errors';
import { commands } from './ids';
import { plural, withoutIcons } from './labels';
import { pickCheckpoint, pickRoot, targetOf } from './picker';
import { withPatience } from './progress';
import { relativeTime } from './relative-time';
import type { Root } from './root';
import type { Services } from './services';
import { isTreeNode } from './tree-nodes';

/** The conversation alone: a new session with the messages of the checkpoint. */
export const forkSession = async ({ workspaces, flow }: Services, argument: unknown): Promise<boolean> => {
  const target =
    isTreeNode(argument) || typeof argument === 'string'
      ? await targetOf(workspaces, argument, 'Fork Session Here')
      : await pickCheckpoint(workspaces, 'Fork Session Here', ({ checkpoint }) => checkpoint.session !== null, {
          text: 'No checkpoint has a conversation yet. With its plugin, OpenCode makes them.',
          action: { title: 'Install OpenCode Plugin', command: commands.installPlugin },
        });
  return target === undefined ? false : flow.restore(target, { scope: ['conversation'] });
};

interface Place {
  root: Root;
  session: string;
  title: string;
}

const pickSession = async (root: Root): Promise<Place | undefined> => {
  const sessions = await withPatience('Asking OpenCode for its sessions', async () => {
    await root.sessions.gateway();
    return listedOn(await root.sessions.allRunning(), root.api.root);
  });
  // Sub-agents' sessions are parts of their parents'.
  const items = sessions
    .map(({ session }) => session)
    .filter((session) => session.parentId === null && !session.archived)
    .sort((a, b) => b.updatedAt - a.updatedAt)
    .map((session) => ({
      label: `$(comment-discussion) ${withoutIcons(session.title ?? session.id)}`,
      description: relativeTime(new Date(session.updatedAt).toISOString(), Date.now(), vscode.env.language),
      place: { root, session: session.id, title: session.title ?? session.id },
    }));
  if (items.length === 0) {
    vscode.window.showInformationMessage('OpenCode has no session in this folder yet.');
    return undefined;
  }
  return (await vscode.window.showQuickPick(items, { title: 'Open Session' }))?.place;
};

const placeOf = async (services: Services, argument: unknown): Promise<Place | undefined> => {
  if (isTreeNode(argument) && argument.type === 'session' && argument.group.id !== null) {
    const { id, title } = argument.group;
    return { root: argument.root, session: id, title: title ?? id };
  }
  if (isTreeNode(argument) || typeof argument === 'string') {
    const target = await targetOf(services.workspaces, argument, 'Open Session');
    if (target === undefined || target.checkpoint.session === null)
      throw new CheckpointsError('no-conversation', 'It was made outside of any session.');
    const { id, title } = target.checkpoint.session;
    return { root: target.root, session: id, title: title ?? id };
  }
  const root = await pickRoot(services.workspaces, 'Open Session');
  return root === undefined ? undefined : pickSession(root);
};

export const openSession = async (services: Services, argument: unknown): Promise<void> => {
  const place = await placeOf(services, argument);
  if (place !== undefined) await openSessionOf(place.root, place.session, place.title);
};

export const openSessionOf = async (root: Root, session: string, fallback = session): Promise<void> => {
  // Asked for first: a terminal that opens only to say that the session is gone helps nobody.
  const { title } = await withPatience('Asking OpenCode for the session', async () =>
    (await root.sessions.gatewayOf(session)).get(session),
  );
  await root.sessions.open(session, title ?? fallback);
};

export const startServer = async ({ workspaces }: Services, given?: Root): Promise<void> => {
  const root = given ?? (await pickRoot(workspaces, 'Start Server'));
  if (root === undefined) return;
  await withPatience('Starting OpenCode', () => root.sessions.gateway());
  vscode.window.showInformationMessage(`${(await root.sessions.description()) ?? 'OpenCode'}.`);
};

export const stopServer = async ({ workspaces }: Services): Promise<void> => {
  const stopped = await Promise.all(workspaces.current.map((root) => root.sessions.close()));
  const count = stopped.filter((own) => own).length;
  vscode.window.showInformationMessage(
    count === 0 ? 'No OpenCode server was started by this window.' : `${plural(count, 'OpenCode server')} stopped.`,
  );
};
