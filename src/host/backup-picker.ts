import * as vscode from 'vscode';
import type { BackedUpSession, RestorePreview } from '../backup/api';
import { sessionDescription, stateOrder, stateTitles } from './backup-text';
import { plural, withoutIcons } from './labels';
import { fullTime, relativeTime } from './relative-time';

interface SessionItem extends vscode.QuickPickItem {
  session?: BackedUpSession;
}

const ago = (iso: string): string => relativeTime(iso, Date.now(), vscode.env.language);
const versionsButton: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon('history'),
  tooltip: 'Choose an Older Version',
};

export interface Chosen {
  sessions: BackedUpSession[];
  /** Session to the file of the version, where it is not the newest. */
  versions: Record<string, string>;
}

/** Sessions by what became of them; those that are not in OpenCode are ticked. Sub-agents' sessions come with their parents. */
export const sessionItems = (preview: RestorePreview, here: (directory: string) => boolean): SessionItem[] => {
  const ids = new Set(preview.sessions.map(({ id }) => id));
  const top = preview.sessions.filter(({ parentId }) => parentId === null || !ids.has(parentId));
  return stateOrder.flatMap((state) => {
    const group = top.filter((session) => session.state === state);
    if (group.length === 0) return [];
    // Those of this folder first; otherwise the newest, as they came.
    const sorted = [...group].sort((a, b) => Number(here(b.directory)) - Number(here(a.directory)));
    return [
      { label: stateTitles[state], kind: vscode.QuickPickItemKind.Separator },
      ...sorted.map((session) => item(session, here(session.directory))),
    ];
  });
};

const item = (session: BackedUpSession, isHere: boolean): SessionItem => ({
  session,
  label: `$(${session.deleted ? 'trash' : 'comment-discussion'}) ${withoutIcons(session.title ?? session.id)}`,
  description: sessionDescription(session, ago),
  detail: isHere ? undefined : session.directory,
  picked: session.state === 'new' && !session.deleted && isHere,
  buttons: session.versions.length > 1 ? [versionsButton] : [],
});

/** Undefined: the user gave up. */
export const pickSessions = (
  preview: RestorePreview,
  here: (directory: string) => boolean,
): Promise<Chosen | undefined> =>
  new Promise((done) => {
    const pick = vscode.window.createQuickPick<SessionItem>();
    const versions: Record<string, string> = {};
    let asking = false;
    const finish = (chosen: Chosen | undefined): void => {
      done(chosen);
      pick.dispose();
    };
    pick.title = `Restore Sessions from ${preview.path}`;
    pick.placeholder = 'Tick the sessions to restore';
    pick.canSelectMany = true;
    pick.ignoreFocusOut = true;
    pick.matchOnDescription = true;
    pick.matchOnDetail = true;
    pick.items = sessionItems(preview, here);
    pick.selectedItems = pick.items.filter(({ picked }) => picked === true);
    pick.onDidTriggerItemButton(async ({ item: { session } }) => {
      if (session === undefined) return;
      const ticked = new Set(pick.selectedItems.map((one) => one.session?.id));
      asking = true;
      const file = await pickVersion(session);
      asking = false;
      if (file !== undefined) {
        versions[session.id] = file;
        ticked.add(session.id);
      }
      pick.items = pick.items.map((one) => (one.session ? withVersion(one, versions[one.session.id]) : one));
      pick.selectedItems = pick.items.filter((one) => one.session && ticked.has(one.session.id));
      pick.show();
    });
    pick.onDidAccept(() => {
      const sessions = pick.selectedItems.flatMap(({ session }) => (session ? [session] : []));
      finish(sessions.length === 0 ? undefined : { sessions, versions });
    });
    // Another pick hides this one for a while.
    pick.onDidHide(() => asking || finish(undefined));
    pick.show();
  });

const withVersion = (one: SessionItem, file: string | undefined): SessionItem => {
  const version = one.session?.versions.find((candidate) => candidate.file === file);
  return version === undefined
    ? one
    : { ...one, detail: `The version of ${fullTime(version.savedAt, vscode.env.language)}` };
};

const pickVersion = async ({ versions, title, id }: BackedUpSession): Promise<string | undefined> => {
  const items = versions.map((version, i) => ({
    label: `$(history) ${ago(new Date(version.updatedAt).toISOString())}`,
    description: [
      version.messages === null ? '' : plural(version.messages, 'message'),
      version.machine ?? '',
      i === 0 ? 'the newest' : '',
    ]
      .filter((part) => part !== '')
      .join(' · '),
    detail: `Saved ${fullTime(version.savedAt, vscode.env.language)}`,
    file: version.file,
  }));
  return (await vscode.window.showQuickPick(items, { title: `Versions of ${title ?? id}`, ignoreFocusOut: true }))
    ?.file;
};
