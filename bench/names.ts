/** The operations as the tables name them. */
export const operations = {
  first: 'first checkpoint, git',
  firstPlain: 'first checkpoint, no git',
  nothing: 'nothing changed, scan',
  knownPath: '1 edit, paths known',
  oneEdit: '1 edit, scan',
  hundredEdits: '100 edits, scan',
  manyEdits: '5,000 edits, scan',
  restoreOne: 'restore 1',
  restoreHundred: 'restore 100',
  restoreMany: 'restore 5,000',
  restoreAll: 'restore 10, redo',
  diff: 'diff 100',
  freshProcess: '1 edit, fresh process',
  laneLarge: '1 edit, paths known, in a row',
  laneSmall: '1 edit, paths known, small repo',
  callV1: 'added to a tool call, OpenCode 1',
  callV2: 'added to a tool call, OpenCode 2',
  listAll: 'list 10,000',
  listPage: 'list newest 100 of 10,000',
  search: 'search 10,000',
  coldStart: 'cold start, 10,000',
  rebuild: 'cold start without index, 10,000',
  memory: 'memory of 10,000',
  storageRaw: '500 checkpoints, before maintenance',
  storage: '500 checkpoints, stored',
  pruned: 'pruned to 100, stored',
  maintenance: 'maintenance of 500',
  deletion: 'delete 400 of 500 and free',
} as const;

export const ours = 'ours';
export const copies = 'whole-file copies';
