import * as vscode from 'vscode';
import { sourceNames, sources, type ImportReport, type Source } from '../imports/model';
import type { Offer } from '../imports/offers';
import { bundleFilter, importBundle } from './actions-sync';
import { importPage, importText, offerText } from './import-text';
import type { ImportChoice } from './import';
import { commands } from './ids';
import { plural } from './labels';
import { showError } from './notifications';
import { pickRoot } from './picker';
import { withCancel, withPatience } from './progress';
import type { Root } from './root';
import type { Services } from './services';

type Item = vscode.QuickPickItem & { choice?: ImportChoice; place?: Source | 'bundle' };

const hints: Record<Source, string> = {
  s1: 'checkpoints.db: bookmarks in conversations',
  s2: '.opencode/state: checkpoint.json and its history',
  s4: 'a folder with session, message and part: sessions of an older OpenCode',
  s5: 'manifest.json: first versions of files',
};

/** Asks what to import: a file that `Export…` wrote, what was found, or what the user knows to be elsewhere. */
export const importAny = async (services: Services): Promise<void> => {
  const root = await pickRoot(services.workspaces, 'Import');
  if (root === undefined) return;
  const found = await withPatience('Looking for what can be imported', () => services.oldData.find(root));
  const items: Item[] = [
    {
      label: '$(file-zip) Checkpoint File…',
      detail: 'A file that Export… wrote, here or on another machine',
      place: 'bundle',
    },
    ...(found.length === 0 ? [] : [{ label: 'Found on this machine', kind: vscode.QuickPickItemKind.Separator }]),
    ...found.map(({ from, path, count }) => ({
      label: `$(cloud-download) ${sourceNames[from]}`,
      description: from === 's4' ? plural(count, 'session') : plural(count, 'checkpoint'),
      detail: path,
      choice: chosenOffer({ from, path }),
    })),
    { label: 'From another place', kind: vscode.QuickPickItemKind.Separator },
    ...sources.map((from) => ({ label: `$(folder-opened) ${sourceNames[from]}…`, detail: hints[from], place: from })),
  ];
  const chosen = await vscode.window.showQuickPick(items, {
    title: 'Import',
    placeHolder: 'What to bring in',
    matchOnDetail: true,
    ignoreFocusOut: true,
  });
  if (chosen?.place === 'bundle') {
    const [file] =
      (await vscode.window.showOpenDialog({
        title: 'Import Checkpoints',
        filters: bundleFilter,
        openLabel: 'Import',
      })) ?? [];
    if (file !== undefined) await importBundle(services, root, file.fsPath);
    return;
  }
  const choice = chosen?.choice ?? (chosen?.place === undefined ? undefined : await askPlace(chosen.place));
  if (choice !== undefined) await importOld(services, root, [choice]);
};

const askPlace = async (from: Source): Promise<ImportChoice | undefined> => {
  const folder = from !== 's1';
  const [place] =
    (await vscode.window.showOpenDialog({
      title: `Import ${sourceNames[from]}: ${hints[from]}`,
      canSelectFolders: folder,
      canSelectFiles: !folder,
      openLabel: 'Import',
    })) ?? [];
  return place === undefined ? undefined : { from, path: place.fsPath };
};

const importOld = async (services: Services, root: Root, choices: readonly ImportChoice[]): Promise<void> => {
  const reports: ImportReport[] = [];
  for (const choice of choices)
    reports.push(
      await withCancel(`Importing ${sourceNames[choice.from]}`, ({ signal }) =>
        services.oldData.run(root, choice, signal),
      ),
    );
  const details = 'Show Details';
  const timeline = 'Open Timeline';
  const some = reports.some(({ imported, from }) => imported.length > 0 && from !== 's4');
  const more = reports.some(({ skipped, problems }) => skipped.length + problems.length > 0);
  const say = reports.some(({ problems }) => problems.length > 0)
    ? vscode.window.showWarningMessage
    : vscode.window.showInformationMessage;
  const answer = await say(reports.map(importText).join(' '), ...(some ? [timeline] : []), ...(more ? [details] : []));
  if (answer === timeline) await vscode.commands.executeCommand(commands.openTimeline);
  if (answer === details) await services.pages.show('Import', importPage(reports));
};

const chosenOffer = ({ from, path }: Pick<Offer, 'from' | 'path'>): ImportChoice => ({
  from,
  ...(from === 's4' ? { path, found: true } : {}),
});

/** Once for each kind of data and workspace: whoever says no has said it, and finds it under Import… later. */
export const offerOldData = async (services: Services): Promise<void> => {
  if (!vscode.workspace.isTrusted) return;
  for (const root of services.workspaces.current) {
    const offers = await services.oldData.fresh(root);
    if (offers.length === 0) continue;
    const answer = await vscode.window.showInformationMessage(offerText(offers), 'Import', 'Not Now');
    if (answer !== 'Import') continue;
    await importOld(services, root, offers.map(chosenOffer)).catch(
      (error: unknown) => void showError(error, services.log),
    );
  }
};
