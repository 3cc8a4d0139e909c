import type { WorkspaceApi } from '../core/api';
import { changeLetters } from '../core/change-letters';
import { lossInWords } from '../core/lost';
import { callersMetadata } from '../core/marks';
import type { Change, Checkpoint } from '../core/model';
import type { Original } from '../core/originals';
import { oneLine, shorten, wellFormed } from '../core/text';
import { flag, optionalCount, optionalObject, optionalText, requiredText } from './arguments';
import { firstVersion, firstVersions, pathIn } from './first-version';
import { lineOf, resolveHere } from './line';
import { input, placeOf, text, type Toolbox, type ToolSpec } from './tool-spec';

const patchLength = 12_000;
const descriptionLength = 10_000;
const metadataLength = 100_000;
const changesNamed = 200;

/** Create, list, compare, count. */
export function pointTools(box: Toolbox): ToolSpec[] {
  const open = async (): Promise<WorkspaceApi> => (await box.companion.open()).workspace;
  return [
    {
      name: 'checkpoint_create',
      core: true,
      description: 'Save files, conversation and task of this moment under a name.',
      input: input({ name: text(), description: text(), metadata: { type: 'object' } }, ['name']),
      run: async (args, call) => {
        const name = requiredText(args, 'name', 'before the refactoring');
        const description = optionalText(args, 'description', descriptionLength) ?? null;
        const metadata = callersMetadata(optionalObject(args, 'metadata', metadataLength) ?? {});
        const moment = await placeOf(box, call);
        const made = await (await open()).create({ trigger: 'agent', name, description, metadata, ...moment });
        return createdText(made);
      },
    },
    {
      name: 'checkpoint_list',
      core: true,
      description:
        'List checkpoints, newest first: of this session and those it was forked from, or all; or the first version of each file this session changed.',
      input: input({
        limit: { type: 'integer' },
        search: text(),
        all: { type: 'boolean' },
        originals: { type: 'boolean' },
      }),
      run: async (args, call) => {
        const limit = optionalCount(args, 'limit', 200) ?? 50;
        if (flag(args, 'originals')) return originalsText(await firstVersions(box, call.session), limit);
        const search = optionalText(args, 'search');
        const workspace = await open();
        const found = await workspace.list(search === undefined ? {} : { search });
        const mine = flag(args, 'all') ? null : await lineOf(box, call.session);
        const shown = found.filter(({ session }) => mine === null || (session !== null && mine.has(session.id)));
        return listText(shown, limit, mine === null) + lossText(workspace);
      },
    },
    {
      name: 'checkpoint_diff',
      core: true,
      description:
        'What changed from one checkpoint to another, or to the working files when "to" is left out. With "path" alone: since the first version of that file in this session.',
      input: input({ from: text('id, name, latest, latest~N'), to: text(), path: text('file or folder') }),
      run: async (args, call) => {
        const workspace = await open();
        const path = optionalText(args, 'path');
        const named = optionalText(args, 'from');
        const original = named === undefined && path !== undefined ? await firstVersion(box, call.session, path) : null;
        const resolved = async (reference: string): Promise<string> =>
          (await resolveHere(box, call.session, reference)).id;
        const from = original?.checkpoint ?? (await resolved(named ?? requiredText(args, 'from', 'latest')));
        const until = optionalText(args, 'to');
        const to = until === undefined ? undefined : await resolved(until);
        const ends = to === undefined ? [from] : [from, to];
        const paths = path === undefined ? undefined : [original?.path ?? (await pathIn(box, ends, path))];
        const result = await workspace.diff(from, to, { paths, patch: true });
        const head = `${result.from} -> ${result.to ?? 'working files'}: ${result.changes.length} changed\n`;
        return head + namesText(result.changes) + patchText(wellFormed(result.patch ?? ''));
      },
    },
    {
      name: 'checkpoint_stats',
      core: false,
      description: 'How many checkpoints there are, and what they take.',
      input: input(),
      run: async () => {
        const stats = await (await open()).stats();
        const lines = [
          'Checkpoint Statistics:',
          `  Total checkpoints: ${stats.checkpoints}`,
          `  Total sessions: ${stats.sessions}`,
          `  Size: ${(stats.bytes / 1024 / 1024).toFixed(1)} MB`,
          `  Store: ${stats.store}`,
          ...box.reporter.problems.map((problem) => `  Problem: ${oneLine(problem)}`),
        ];
        return lines.join('\n');
      },
    },
  ];
}

function lossText(workspace: WorkspaceApi): string {
  const words = lossInWords(workspace.lost());
  return words === null
    ? ''
    : `\n${words} Ask the user to run opencode-checkpoints doctor --repair, or Run Doctor in VS Code.`;
}

/** An older plugin's name for the same argument. */
export function reference(args: Record<string, unknown>): Record<string, unknown> {
  return { ...args, checkpoint: args['checkpoint'] ?? args['id'] };
}

function createdText(made: Checkpoint): string {
  const { files, git } = made;
  const lines = [
    `Checkpoint created: ${made.name ?? made.title}`,
    `  ID: ${made.id}`,
    `  Messages: ${made.session?.messageCount ?? 0}`,
    ...(git?.commit ? [`  Git commit: ${git.commit.slice(0, 8)}`] : []),
    ...(made.description ? [`  Description: ${shorten(made.description, 500)}`] : []),
    `  Files: ${files.added} added, ${files.modified} modified, ${files.deleted} deleted since the checkpoint before`,
    ...files.partial.map(({ path, reason }) => `  Not captured: ${path} (${reason})`),
  ];
  return lines.join('\n');
}

function listText(found: readonly Checkpoint[], limit: number, all: boolean): string {
  if (found.length === 0) return `No checkpoints found${all ? '.' : ' for this session.'}`;
  const rows = found.slice(0, limit).map((one) => {
    const task = one.task ? [one.task.status, one.task.title].filter(Boolean).join(': ') || 'yes' : '-';
    const git = one.git?.commit?.slice(0, 8) ?? '-';
    const cells = [one.id, one.name ?? one.title, one.session?.messageCount ?? '-', one.createdAt, git, task];
    return `| ${cells.map((cell) => cellText(String(cell))).join(' | ')} |`;
  });
  const more = found.length > limit ? `\n${found.length - limit} older ones are not shown.` : '';
  return `Checkpoints (${found.length}):\n\n| ID | Name | Messages | Created | Git | Task |\n|---|---|---|---|---|---|\n${rows.join('\n')}${more}`;
}

function originalsText(originals: readonly Original[], limit: number): string {
  if (originals.length === 0) return 'This session has changed no file yet.';
  const rows = originals.slice(0, limit).map(({ path, existed, size, createdAt, checkpoint, change }) => {
    const cells = [existed ? `${size ?? 0} bytes` : 'absent', createdAt, checkpoint, change?.status ?? 'same'];
    // The path whole: it is what the other tools take.
    return `| ${inCell(path)} | ${cells.join(' | ')} |`;
  });
  const head = '| File | Size | Saved | Checkpoint | Since |\n|---|---|---|---|---|';
  const more = originals.length > limit ? `\n${originals.length - limit} more are not shown.` : '';
  return `First versions (${originals.length}):\n\n${head}\n${rows.join('\n')}${more}`;
}

const inCell = (value: string): string => oneLine(value).replaceAll('|', '\\|');
const cellText = (value: string): string => inCell(shorten(oneLine(value), 80));

function namesText(changes: readonly Change[]): string {
  const lines = changes
    .slice(0, changesNamed)
    .map(({ status, from, path, additions, deletions, binary, damaged, leftOut }) => {
      const name = from === undefined ? path : `${from} -> ${path}`;
      const what = damaged
        ? '(damaged in the store)'
        : leftOut
          ? '(left out, still there)'
          : binary
            ? '(binary)'
            : `+${additions} -${deletions}`;
      return `${changeLetters[status]} ${oneLine(name)} ${what}\n`;
    });
  const rest = changes.length - lines.length;
  return lines.join('') + (rest > 0 ? `and ${rest} more\n` : '');
}

function patchText(patch: string): string {
  if (patch === '') return '';
  if (patch.length <= patchLength) return `\n${patch}`;
  const cut = patch.lastIndexOf('\n', patchLength);
  return `\n${patch.slice(0, cut)}\n[cut: ${patch.length - cut} more characters; name a "path" to see less at once]`;
}
