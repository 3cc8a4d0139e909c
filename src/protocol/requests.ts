import type { RestoreScope } from '../core/model';
import { ProtocolError } from './envelope';
import { noticeActions, type FindQuery, type TimelineAction, type TimelineMethods } from './timeline';

/** The page shows text that agents and strangers wrote: what it asks for is checked field by field before anything is done. */
type Params = { [K in keyof TimelineMethods]: (params: unknown) => TimelineMethods[K]['params'] };

export const readParams: Params = {
  timeline: (params) => {
    const fields = object(params);
    return { workspace: nullable(string)(fields['workspace']), known: nullable(number)(fields['known']) };
  },
  details: (params) => {
    const fields = object(params);
    return { workspace: nullable(string)(fields['workspace']), id: id(fields['id']) };
  },
  find: (params) => {
    const fields = object(params);
    return { workspace: nullable(string)(fields['workspace']), query: readQuery(fields['query']) };
  },
  act: (params) => {
    const fields = object(params);
    return { workspace: nullable(string)(fields['workspace']), action: readAction(fields['action']) };
  },
};

function readQuery(value: unknown): FindQuery {
  const fields = object(value);
  const query: FindQuery = {};
  if (fields['text'] !== undefined) query.text = string(fields['text']);
  if (fields['file'] !== undefined) query.file = string(fields['file']);
  return query;
}

type Fields = Record<string, unknown>;
type ActionReaders = {
  [T in TimelineAction['type']]: (fields: Fields) => Extract<TimelineAction, { type: T }>;
};

const actions: ActionReaders = {
  restore: (f) => ({
    type: 'restore',
    id: id(f['id']),
    ...(f['scope'] === undefined ? {} : { scope: list(scope)(f['scope']) }),
    ...(f['paths'] === undefined ? {} : { paths: some(path)(f['paths']) }),
  }),
  revertTurn: (f) => ({ type: 'revertTurn', id: id(f['id']) }),
  compareWorking: (f) => ({ type: 'compareWorking', id: id(f['id']) }),
  comparePrevious: (f) => ({ type: 'comparePrevious', id: id(f['id']) }),
  compareSessionStart: (f) => ({ type: 'compareSessionStart', id: id(f['id']) }),
  compareTurn: (f) => ({ type: 'compareTurn', id: id(f['id']) }),
  showInGutter: (f) => ({ type: 'showInGutter', id: id(f['id']) }),
  compare: (f) => ({ type: 'compare', from: id(f['from']), to: id(f['to']) }),
  openDiff: (f) => ({
    type: 'openDiff',
    id: id(f['id']),
    path: path(f['path']),
    ...(f['from'] === undefined ? {} : { from: path(f['from']) }),
    against: oneOf(['previous', 'working', 'turn'] as const)(f['against']),
  }),
  openFile: (f) => ({ type: 'openFile', path: path(f['path']) }),
  rename: (f) => ({ type: 'rename', id: id(f['id']) }),
  describe: (f) => ({ type: 'describe', id: id(f['id']) }),
  pin: (f) => ({ type: 'pin', id: id(f['id']), pinned: boolean(f['pinned']) }),
  delete: (f) => ({ type: 'delete', ids: list(id)(f['ids']) }),
  copyId: (f) => ({ type: 'copyId', id: id(f['id']) }),
  fork: (f) => ({ type: 'fork', id: id(f['id']) }),
  openSession: (f) => ({ type: 'openSession', session: string(f['session']) }),
  create: () => ({ type: 'create' }),
  reveal: (f) => ({ type: 'reveal', id: id(f['id']) }),
  openFolder: () => ({ type: 'openFolder' }),
  notice: (f) => ({ type: 'notice', action: oneOf(noticeActions)(f['action']) }),
};

function readAction(value: unknown): TimelineAction {
  const fields = object(value);
  const type = string(fields['type']);
  if (!Object.hasOwn(actions, type)) throw bad(`unknown action "${type}"`);
  return actions[type as TimelineAction['type']](fields);
}

const bad = (what: string): ProtocolError =>
  new ProtocolError({ reason: 'bad-request', message: `The page sent a malformed request: ${what}.` });

function object(value: unknown): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw bad('not an object');
  return value as Fields;
}

function string(value: unknown): string {
  if (typeof value !== 'string') throw bad('not a text');
  return value;
}

function number(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw bad('not a number');
  return value;
}

function boolean(value: unknown): boolean {
  if (typeof value !== 'boolean') throw bad('not true or false');
  return value;
}

/** Only full ids: a name or a prefix could come to mean another checkpoint between the look and the click. */
function id(value: unknown): string {
  const text = string(value);
  if (!/^cp_[0-9a-z]{26}$/.test(text)) throw bad('not a checkpoint id');
  return text;
}

/** Relative, inside the workspace; the host's own checks come after. */
function path(value: unknown): string {
  const text = string(value);
  const odd = text === '' || text.includes('\0') || /^([/\\]|[A-Za-z]:)/.test(text);
  if (odd || text.split(/[/\\]/).includes('..')) throw bad('not a path of the workspace');
  return text;
}

const oneOf =
  <T extends string>(values: readonly T[]) =>
  (value: unknown): T => {
    const found = values.find((candidate) => candidate === value);
    if (found === undefined) throw bad(`not one of ${values.join(', ')}`);
    return found;
  };

const scope = oneOf<RestoreScope>(['files', 'conversation', 'task']);

const nullable =
  <T>(read: (value: unknown) => T) =>
  (value: unknown): T | null =>
    value === null || value === undefined ? null : read(value);

const list =
  <T>(read: (value: unknown) => T) =>
  (value: unknown): T[] => {
    if (!Array.isArray(value)) throw bad('not a list');
    return value.map(read);
  };

/** None at all is no request: the page leaves the list out when it means everything. */
const some =
  <T>(read: (value: unknown) => T) =>
  (value: unknown): T[] => {
    const values = list(read)(value);
    if (values.length === 0) throw bad('an empty list');
    return values;
  };
