import * as vscode from 'vscode';
import { hasFiles } from '../core/files-facet';
import type { Checkpoint } from '../core/model';
import type { TurnEnd } from '../core/turn-ends';
import { reasonInWords } from '../protocol/reason-words';
import { commands } from './ids';
import {
  behind,
  countsInWords,
  firstLine,
  headAndRest,
  lineCounts,
  madeBy,
  money,
  number,
  originText,
  plural,
  rowCounts,
  triggerIcons,
} from './labels';
import { appendPlain } from './plain-text';
import { fullTime, relativeTime } from './relative-time';
import {
  nodeId,
  type CheckpointNode,
  type FileNode,
  type SessionNode,
  type TreeNode,
  type TurnNode,
} from './tree-nodes';
import { atEdge, counted, decorated } from './decorations';
import type { TurnGroup } from './tree-model';

const ago = (iso: string): string => relativeTime(iso, Date.now(), vscode.env.language);
/** In a row every character counts. */
const age = (iso: string): string => relativeTime(iso, Date.now(), vscode.env.language, 'narrow');

/** How each node looks. */
export const treeItem = (node: TreeNode): vscode.TreeItem => {
  const item = build(node);
  item.id = nodeId(node);
  return item;
};

/** All that shows of a row, to tell whether it has to be drawn again. Whether it is open is the user's affair. */
export const lookOf = (node: TreeNode): string => {
  const {
    label,
    description,
    resourceUri,
    tooltip,
    contextValue,
    iconPath,
    collapsibleState,
    accessibilityInformation,
  } = build(node);
  const icon = iconPath instanceof vscode.ThemeIcon ? [iconPath.id, iconPath.color?.id] : [];
  const hover = tooltip instanceof vscode.MarkdownString ? tooltip.value : tooltip;
  const opens = collapsibleState !== vscode.TreeItemCollapsibleState.None;
  // Those of a session and a turn count every point, and to draw a row is to lose clicks on all below it: they can wait for its age.
  const counting = node.type === 'session' || node.type === 'turn';
  const more = counting ? [] : [hover, accessibilityInformation?.label];
  return JSON.stringify([label, description, resourceUri?.fragment, contextValue, icon, opens, ...more]);
};

const build = (node: TreeNode): vscode.TreeItem => {
  const item = itemOf(node);
  if (typeof item.label === 'string' && typeof item.description === 'string')
    item.description = behind(item.label, item.description);
  return item;
};

const itemOf = (node: TreeNode): vscode.TreeItem => {
  switch (node.type) {
    case 'root': {
      const item = new vscode.TreeItem(node.root.name, vscode.TreeItemCollapsibleState.Expanded);
      item.iconPath = new vscode.ThemeIcon('root-folder');
      item.contextValue = 'root';
      return item;
    }
    case 'session':
      return sessionItem(node);
    case 'turn':
      return turnItem(node);
    case 'checkpoint':
      return checkpointItem(node);
    case 'folder': {
      const item = new vscode.TreeItem(node.label, vscode.TreeItemCollapsibleState.Expanded);
      item.iconPath = vscode.ThemeIcon.Folder;
      item.contextValue = 'folder';
      return item;
    }
    case 'file':
      return fileItem(node);
    case 'more': {
      const item = new vscode.TreeItem(`Show more (${number(node.remaining)} left)`);
      item.iconPath = new vscode.ThemeIcon('ellipsis');
      item.contextValue = 'more';
      item.command = { command: commands.loadMore, title: 'Show More', arguments: [node] };
      return item;
    }
  }
};

const stateWords = { busy: 'working', deleted: 'deleted' } as const;
const stateSentences = {
  busy: 'The agent is working in it.',
  deleted: 'OpenCode does not have this session any more. Its files and tasks can still be restored.',
} as const;

const sessionItem = ({ group, parent, open }: SessionNode): vscode.TreeItem => {
  const isFork = parent?.type === 'session';
  const label = group.id === null ? 'Without a session' : (group.title ?? 'Untitled session');
  const { Collapsed, Expanded } = vscode.TreeItemCollapsibleState;
  const item = new vscode.TreeItem(label, open ? Expanded : Collapsed);
  const word = group.state === undefined ? '' : stateWords[group.state];
  const begun = group.count === 0;
  if (begun && group.forks.length === 0) item.collapsibleState = vscode.TreeItemCollapsibleState.None;
  item.description = [word, begun ? 'no checkpoint yet' : '', age(group.active)]
    .filter((part) => part !== '')
    .join(' · ');
  const icon = group.id === null ? 'bookmark' : isFork ? 'repo-forked' : 'comment-discussion';
  item.iconPath =
    group.state === 'deleted'
      ? new vscode.ThemeIcon('circle-slash', new vscode.ThemeColor('disabledForeground'))
      : new vscode.ThemeIcon(group.state === 'busy' ? 'loading~spin' : icon);
  item.contextValue = group.id === null ? 'noSession' : begun ? 'begunSession' : 'session';
  const points = begun ? 'no checkpoint of its own yet' : plural(group.count, 'checkpoint');
  const more = group.state === undefined ? '' : `\n${stateSentences[group.state]}`;
  const id = group.title === null && group.id !== null ? ` (${group.id})` : '';
  item.tooltip = `${label}${id}\n${points}, ${begun ? 'forked' : 'the last'} ${ago(group.latest)}${more}`;
  item.accessibilityInformation = {
    label: [`${isFork ? 'Fork' : 'Session'} ${label}`, word, points, ago(group.latest)]
      .filter((part) => part !== '')
      .join(', '),
  };
  return item;
};

const turnItem = ({ group }: TurnNode): vscode.TreeItem => {
  const label = firstLine(group.prompt) || `Turn ${group.number}`;
  const [head, rest] = headAndRest(label);
  const item = new vscode.TreeItem(head, vscode.TreeItemCollapsibleState.Collapsed);
  const isFew = group.changed === 0 || atEdge(group.changed);
  const words = [isFew ? '' : plural(group.changed, 'file'), age(group.startedAt), rest];
  item.description = words.filter((word) => word !== '').join(' · ');
  if (atEdge(group.changed)) item.resourceUri = counted(group.first.id, group.changed);
  item.iconPath = new vscode.ThemeIcon('comment');
  item.contextValue = 'turn';
  item.tooltip = tooltip(group.first, group);
  item.accessibilityInformation = {
    label: `Turn ${group.number}: ${label}, ${plural(group.points.length, 'checkpoint')}, ${plural(group.changed, 'changed file')}, ${ago(group.startedAt)}`,
  };
  return item;
};

/** Inside its turn a point need not repeat the prompt. */
const pointLabel = ({ checkpoint, parent }: CheckpointNode): [label: string, rest: string] => {
  if (parent?.type === 'turn' && checkpoint.trigger === 'turn') return ['Before the prompt', ''];
  if (parent?.type === 'turn' && checkpoint.trigger === 'idle') return ['After the turn', ''];
  const title = firstLine(checkpoint.title) || checkpoint.id;
  return checkpoint.trigger === 'turn' && checkpoint.name === null ? headAndRest(title) : [title, ''];
};

const checkpointItem = (node: CheckpointNode): vscode.TreeItem => {
  const { checkpoint, end } = node;
  const { files } = checkpoint;
  const changed = end?.changed ?? files.added + files.modified + files.deleted;
  const [label, rest] = pointLabel(node);
  const item = new vscode.TreeItem(
    label,
    changed > 0 ? vscode.TreeItemCollapsibleState.Collapsed : vscode.TreeItemCollapsibleState.None,
  );
  const origin = originText(checkpoint);
  item.description = [rowCounts(checkpoint, end), origin, age(checkpoint.createdAt), rest]
    .filter((part) => part !== '')
    .join(' · ');
  item.iconPath = checkpointIcon(checkpoint);
  item.contextValue = contextValue(checkpoint);
  item.tooltip = tooltip(checkpoint, end);
  item.accessibilityInformation = {
    label: [
      checkpoint.title,
      checkpoint.pinned ? 'pinned' : '',
      madeBy(checkpoint),
      end === undefined ? countsInWords(files) : `${plural(end.changed, 'changed file')} in this turn`,
      origin,
      ago(checkpoint.createdAt),
    ]
      .filter((part) => part !== '')
      .join(', '),
  };
  return item;
};

const checkpointIcon = (checkpoint: Checkpoint): vscode.ThemeIcon => {
  if (checkpoint.files.partial.length > 0)
    return new vscode.ThemeIcon('warning', new vscode.ThemeColor('list.warningForeground'));
  if (checkpoint.origin !== null) return new vscode.ThemeIcon('cloud-download', new vscode.ThemeColor('charts.purple'));
  if (checkpoint.pinned) return new vscode.ThemeIcon('pinned', new vscode.ThemeColor('charts.yellow'));
  if (checkpoint.name !== null) return new vscode.ThemeIcon('bookmark', new vscode.ThemeColor('charts.blue'));
  return new vscode.ThemeIcon(triggerIcons[checkpoint.trigger]);
};

/** What the menus in package.json match: words, each with a colon before and behind. */
const contextValue = (checkpoint: Checkpoint): string =>
  [
    'checkpoint',
    checkpoint.pinned ? 'pinned' : 'loose',
    checkpoint.session === null ? '' : 'inSession',
    checkpoint.turn === null ? '' : 'inTurn',
    hasFiles(checkpoint) ? '' : 'noFiles',
  ]
    .filter((word) => word !== '')
    .map((word) => `:${word}:`)
    .join('');

const fileItem = (node: FileNode): vscode.TreeItem => {
  const { root, checkpoint, change, showFolder } = node;
  const file = root.toUri(change.path);
  const item = new vscode.TreeItem(decorated(checkpoint.id, file, change.status));
  const slash = change.path.lastIndexOf('/');
  item.label = change.path.slice(slash + 1);
  item.description = [lineCounts(change), showFolder && slash > 0 ? change.path.slice(0, slash) : '']
    .filter((part) => part !== '')
    .join(' · ');
  // VS Code adds what the letter at the edge means.
  item.tooltip = change.from === undefined ? change.path : `${change.from} → ${change.path}`;
  item.contextValue = change.status === 'deleted' ? 'deletedFile' : 'file';
  item.command = { command: commands.openChanges, title: 'Open Changes', arguments: [node] };
  item.accessibilityInformation = { label: `${change.path}, ${change.status}, ${lineCounts(change)}` };
  return item;
};

const namesOf = ({ paths, changed }: Pick<TurnEnd, 'paths' | 'changed'>): string => {
  if (changed === 0) return 'no file';
  const shown = paths.slice(0, 5);
  return changed > shown.length ? `${shown.join(', ')} and ${changed - shown.length} more` : shown.join(', ');
};

/** Of a checkpoint, also of the one that ended a turn; or of a turn, by its first one: what came of it is known by the later ones. */
const tooltip = (checkpoint: Checkpoint, whole?: TurnGroup | TurnEnd): vscode.MarkdownString => {
  const text = new vscode.MarkdownString('', true);
  const group = whole !== undefined && 'points' in whole ? whole : undefined;
  const turn = group?.points[0]?.turn ?? checkpoint.turn;
  const { session, git, files, restore, origin } = checkpoint;
  // Prompts and names are other people's text: always as plain text, never as Markdown.
  appendPlain(text.appendMarkdown('**'), checkpoint.title.trim()).appendMarkdown('**\n\n');
  const made = group === undefined ? madeBy(checkpoint) : `Turn ${group.number}`;
  text.appendMarkdown(`$(${triggerIcons[checkpoint.trigger]}) ${made} · `);
  appendPlain(text, `${fullTime(checkpoint.createdAt, vscode.env.language)} (${ago(checkpoint.createdAt)})`);
  const line = (icon: string, words: string) => appendPlain(text.appendMarkdown(`\n\n$(${icon}) `), words);
  if (checkpoint.description !== null) appendPlain(text.appendMarkdown('\n\n'), checkpoint.description);
  // Some titles end with all of the prompt.
  if (turn !== null && turn.prompt !== '' && !checkpoint.title.endsWith(turn.prompt)) line('comment', turn.prompt);
  if (turn !== null) {
    const facts = [
      turn.model,
      turn.agent,
      turn.tokens === null ? null : `${number(turn.tokens)} tokens`,
      turn.cost === null ? null : money(turn.cost),
    ].filter((fact) => fact !== null);
    if (facts.length > 0) line('hubot', facts.join(' · '));
  }
  if (typeof checkpoint.metadata['subagent'] === 'string') line('type-hierarchy-sub', 'By a sub-agent');
  if (whole === undefined) line('files', `Files: ${countsInWords(files)} since the checkpoint before`);
  else line('files', `Changed ${group === undefined ? 'since the prompt' : 'by it'}: ${namesOf(whole)}`);
  if (session !== null)
    line(
      'comment-discussion',
      `Conversation: ${plural(session.messageCount, 'message')}${group === undefined ? '' : ' before it'}`,
    );
  if (checkpoint.task !== null)
    line('checklist', `Task: ${checkpoint.task.title ?? checkpoint.task.status ?? 'saved'}`);
  if (git?.commit)
    line('git-commit', `${git.branch ?? 'detached'} ${git.commit.slice(0, 8)}${git.dirty ? ', with changes' : ''}`);
  if (restore !== null)
    line(
      'discard',
      `${plural(restore.restored, 'file')} written, ${restore.deleted} deleted by the ${restore.operation} that followed`,
    );
  if (origin !== null) line('cloud-download', `From ${origin.user} on ${origin.machine}`);
  const reasons = new Set(files.skipped.map(({ reason }) => reasonInWords(reason)));
  if (reasons.size > 0) line('info', `${plural(files.skipped.length, 'file')} left out: ${[...reasons].join(', ')}`);
  if (files.partial.length > 0) line('warning', `${plural(files.partial.length, 'path')} could not be read`);
  text.appendMarkdown('\n\n').appendMarkdown(`\`${checkpoint.id}\``);
  return text;
};
