import type { ExportResult, FetchedCheckpoint, FetchResult, PushResult, SentSessions } from '../../core/sync';
import type { Reply } from '../command';
import type { Output } from '../output';
import { firstLine, visible } from '../visible';
import { size } from './size';
import { plural } from './plural';

export function pushReply(result: PushResult): Reply {
  return {
    json: { push: result },
    text: () => {
      const { added, updated, deleted, unchanged } = result;
      const lines = [
        `${visible(result.remote)}: ${added.length} new, ${updated.length} changed, ${deleted.length} deleted, ${unchanged} as before.`,
        ...(result.damaged.length > 0
          ? [
              `Not sent, for content of theirs is lost, which \`opencode-checkpoints doctor\` tells: ${result.damaged.join(', ')}.`,
            ]
          : []),
        ...sessionLines(result.sessions),
        ...filteredLine(result.filtered),
      ];
      return `${lines.join('\n')}\n`;
    },
  };
}

export function fetchReply(result: FetchResult): Reply {
  return {
    json: { fetch: result },
    text: (output) => {
      const { added, updated, unchanged, refused, deletedHere } = result;
      const lines = [
        ...added.map((one) => fetchedLine('new', one, output)),
        ...updated.map((one) => fetchedLine('changed', one, output)),
        ...refused.map(
          ({ id, origin, reason }) =>
            `${output.style.red('refused')}  ${visible(id)} of ${visible(origin)}: ${visible(reason)}`,
        ),
        `${visible(result.remote)}: ${added.length} new, ${updated.length} changed, ${unchanged} as before.`,
        ...(deletedHere > 0 ? [`${deletedHere} deleted here before: not taken again.`] : []),
        ...(result.sessions.length > 0 ? [`${plural(result.sessions.length, 'session')} came along.`] : []),
      ];
      return `${lines.join('\n')}\n`;
    },
  };
}

export function exportReply(result: ExportResult): Reply {
  return {
    json: { export: result },
    text: () => {
      const lines = [
        `${visible(result.file)}: ${plural(result.checkpoints.length, 'checkpoint')}, ${size(result.bytes)}.`,
        ...sessionLines(result.sessions),
        ...filteredLine(result.filtered),
      ];
      return `${lines.join('\n')}\n`;
    },
  };
}

function fetchedLine(what: string, { id, title, origin }: FetchedCheckpoint, output: Output): string {
  const from = `${visible(origin.user)} on ${visible(origin.machine)}`;
  return `${output.style.green(what.padEnd(7))}  ${output.style.cyan(id)}  ${visible(firstLine(title))}  ${output.style.dim(from)}`;
}

function sessionLines({ sent, skipped }: SentSessions): string[] {
  const reasons = new Map<string, number>();
  for (const { reason } of skipped) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  return [
    ...(sent.length > 0 ? [`${plural(sent.length, 'session')} went along.`] : []),
    ...[...reasons].map(([reason, count]) => `${plural(count, 'session')} stayed here: ${visible(reason)}`),
  ];
}

function filteredLine(filtered: number): string[] {
  return filtered > 0 ? [`${plural(filtered, 'excluded file')} stayed here.`] : [];
}
