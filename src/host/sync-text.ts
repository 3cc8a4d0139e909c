import type { ExportResult, FetchResult, PushResult, SentSessions, SyncProgress } from '../core/sync';
import { plural, withoutLinks } from './labels';

/** The sentences of push, fetch, export and import. No vscode here. */

export const phaseWords: Record<SyncProgress['phase'], string> = {
  preparing: 'preparing',
  sessions: 'reading sessions',
  connecting: 'connecting',
  sending: 'sending',
  receiving: 'receiving',
  checking: 'checking',
};

const list = (parts: readonly string[]): string => parts.filter((part) => part !== '').join(', ');

export const pushText = ({ remote, added, updated, deleted, damaged, sessions, filtered }: PushResult): string => {
  const what = list([
    added.length > 0 ? plural(added.length, 'new checkpoint') : '',
    updated.length > 0 ? `${updated.length} updated` : '',
    deleted.length > 0 ? `${deleted.length} deleted there` : '',
    damaged.length > 0 ? `${plural(damaged.length, 'damaged one')} kept here` : '',
    sessionWords(sessions),
    filtered > 0 ? `${plural(filtered, 'excluded file')} kept here` : '',
  ]);
  return what === '' ? `Everything is in ${remote} already.` : `Pushed to ${remote}: ${what}.`;
};

export const fetchText = ({ added, updated, refused, deletedHere, sessions }: FetchResult): string => {
  const origins = [...new Set(added.map(({ origin }) => `${origin.user}@${origin.machine}`))];
  const from =
    origins.length === 0 ? '' : ` from ${origins.slice(0, 3).join(', ')}${origins.length > 3 ? ' and others' : ''}`;
  const what = list([
    added.length > 0 ? `${plural(added.length, 'new checkpoint')}${from}` : '',
    updated.length > 0 ? `${updated.length} updated` : '',
    sessions.length > 0 ? plural(sessions.length, 'session') : '',
    refused.length > 0 ? `${refused.length} refused: ${refused[0]?.reason ?? ''}` : '',
    deletedHere > 0 ? `${deletedHere} that you deleted stay away` : '',
  ]);
  return what === '' ? 'Nothing new there.' : withoutLinks(`Fetched: ${what}.`);
};

export const exportText = ({ file, checkpoints, sessions, filtered }: ExportResult): string =>
  `${list([
    `${plural(checkpoints.length, 'checkpoint')} in ${file}`,
    sessionWords(sessions),
    filtered > 0 ? `${plural(filtered, 'excluded file')} left out` : '',
  ])}.`;

const sessionWords = ({ sent, skipped }: SentSessions): string =>
  list([
    sent.length > 0 ? plural(sent.length, 'session') : '',
    skipped.length > 0
      ? `${plural(skipped.length, 'session')} without the conversation (${skipped[0]?.reason ?? ''})`
      : '',
  ]);
