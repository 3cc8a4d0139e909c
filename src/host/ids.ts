/** Everything that package.json and the code both name. A test compares the two. */

export const extensionId = 'opencode-checkpoints.opencode-checkpoints';
export const section = 'opencodeCheckpoints';
export const container = 'opencodeCheckpoints';
export const snapshotScheme = 'opencode-checkpoint';
export const textScheme = 'opencode-checkpoint-text';
export const pageScheme = 'opencode-checkpoint-page';

export const views = {
  tree: 'opencodeCheckpoints.tree',
  plan: 'opencodeCheckpoints.plan',
  timeline: 'opencodeCheckpoints.timeline',
  task: 'opencodeCheckpoints.task',
} as const;

export const commands = {
  create: 'opencodeCheckpoints.create',
  createNamed: 'opencodeCheckpoints.createNamed',
  restore: 'opencodeCheckpoints.restore',
  undo: 'opencodeCheckpoints.undo',
  redo: 'opencodeCheckpoints.redo',
  revertTurn: 'opencodeCheckpoints.revertTurn',
  compareWorking: 'opencodeCheckpoints.compareWorking',
  comparePrevious: 'opencodeCheckpoints.comparePrevious',
  compareWith: 'opencodeCheckpoints.compareWith',
  compareSelected: 'opencodeCheckpoints.compareSelected',
  compareSessionStart: 'opencodeCheckpoints.compareSessionStart',
  compareTurn: 'opencodeCheckpoints.compareTurn',
  openFileDiff: 'opencodeCheckpoints.openFileDiff',
  restoreFile: 'opencodeCheckpoints.restoreFile',
  restoreFolder: 'opencodeCheckpoints.restoreFolder',
  restoreSelectedLines: 'opencodeCheckpoints.restoreSelectedLines',
  restoreChange: 'opencodeCheckpoints.restoreChange',
  showInGutter: 'opencodeCheckpoints.showInGutter',
  stopGutter: 'opencodeCheckpoints.stopGutter',
  rename: 'opencodeCheckpoints.rename',
  describe: 'opencodeCheckpoints.describe',
  pin: 'opencodeCheckpoints.pin',
  unpin: 'opencodeCheckpoints.unpin',
  delete: 'opencodeCheckpoints.delete',
  clearSession: 'opencodeCheckpoints.clearSession',
  search: 'opencodeCheckpoints.search',
  openTimeline: 'opencodeCheckpoints.openTimeline',
  revealInTimeline: 'opencodeCheckpoints.revealInTimeline',
  showStatistics: 'opencodeCheckpoints.showStatistics',
  cleanUp: 'opencodeCheckpoints.cleanUp',
  doctor: 'opencodeCheckpoints.doctor',
  refresh: 'opencodeCheckpoints.refresh',
  viewAsTree: 'opencodeCheckpoints.viewAsTree',
  viewAsList: 'opencodeCheckpoints.viewAsList',
  openChanges: 'opencodeCheckpoints.openChanges',
  loadMore: 'opencodeCheckpoints.loadMore',
  copyId: 'opencodeCheckpoints.copyId',
  openFile: 'opencodeCheckpoints.openFile',
  applyPlan: 'opencodeCheckpoints.applyPlan',
  reviewPlan: 'opencodeCheckpoints.reviewPlan',
  cancelPlan: 'opencodeCheckpoints.cancelPlan',
  showLog: 'opencodeCheckpoints.showLog',
  forkSession: 'opencodeCheckpoints.forkSession',
  openSession: 'opencodeCheckpoints.openSession',
  firstVersions: 'opencodeCheckpoints.firstVersions',
  startServer: 'opencodeCheckpoints.startServer',
  stopServer: 'opencodeCheckpoints.stopServer',
  editTask: 'opencodeCheckpoints.editTask',
  editTaskRow: 'opencodeCheckpoints.editTaskRow',
  addTaskItem: 'opencodeCheckpoints.addTaskItem',
  removeTaskItem: 'opencodeCheckpoints.removeTaskItem',
  compareTask: 'opencodeCheckpoints.compareTask',
  restoreTask: 'opencodeCheckpoints.restoreTask',
  openHandoff: 'opencodeCheckpoints.openHandoff',
  installPlugin: 'opencodeCheckpoints.installPlugin',
  backUpNow: 'opencodeCheckpoints.backUpNow',
  restoreSessions: 'opencodeCheckpoints.restoreSessions',
  showBackupStatus: 'opencodeCheckpoints.showBackupStatus',
  push: 'opencodeCheckpoints.push',
  fetch: 'opencodeCheckpoints.fetch',
  export: 'opencodeCheckpoints.export',
  import: 'opencodeCheckpoints.import',
} as const;
export type CommandId = (typeof commands)[keyof typeof commands];

/** What changes files, the store, sessions or a server, and so waits for trust; `enablement` in package.json says the same. */
export const needTrust: ReadonlySet<string> = new Set<CommandId>([
  ...[commands.create, commands.createNamed, commands.restore, commands.undo, commands.redo, commands.revertTurn],
  ...[commands.restoreFile, commands.restoreFolder, commands.restoreSelectedLines, commands.restoreChange],
  commands.applyPlan,
  ...[commands.rename, commands.describe, commands.pin, commands.unpin, commands.delete, commands.clearSession],
  ...[commands.cleanUp, commands.doctor, commands.forkSession, commands.openSession, commands.startServer],
  ...[commands.editTask, commands.editTaskRow, commands.addTaskItem, commands.removeTaskItem, commands.restoreTask],
  ...[commands.installPlugin, commands.backUpNow, commands.restoreSessions, commands.showBackupStatus],
  ...[commands.push, commands.fetch, commands.export, commands.import],
]);

/** What is offered on the rows of a view, and in no view's title; the menus in package.json say the same. */
export const ofRows: ReadonlySet<string> = new Set<CommandId>([
  ...[commands.compareWorking, commands.comparePrevious, commands.compareWith, commands.compareSelected],
  ...[commands.compareSessionStart, commands.compareTurn, commands.showInGutter, commands.revealInTimeline],
  ...[commands.restore, commands.revertTurn, commands.restoreFile, commands.restoreFolder, commands.forkSession],
  ...[commands.rename, commands.describe, commands.pin, commands.unpin, commands.copyId, commands.delete],
  ...[commands.openSession, commands.firstVersions, commands.clearSession, commands.export],
  ...[commands.openChanges, commands.openFile],
  ...[commands.editTaskRow, commands.addTaskItem, commands.removeTaskItem, commands.restoreTask],
  commands.compareTask,
]);

export const contextKeys = {
  /** Which empty state the tree is in: its welcome views hang on it. */
  state: 'opencodeCheckpoints.state',
  canUndo: 'opencodeCheckpoints.canUndo',
  canRedo: 'opencodeCheckpoints.canRedo',
  viewAsTree: 'opencodeCheckpoints.viewAsTreeOn',
  planning: 'opencodeCheckpoints.planning',
  gutter: 'opencodeCheckpoints.gutterOn',
  plugin: 'opencodeCheckpoints.plugin',
  /** Whether no checkpoint comes by itself. */
  automaticOff: 'opencodeCheckpoints.automaticOff',
  /** `missing` while neither a program nor a server of OpenCode is known. */
  opencode: 'opencodeCheckpoints.opencode',
} as const;

export const settings = {
  automatic: 'automatic',
  exclude: 'exclude',
  maxFileSize: 'maxFileSize',
  maxCheckpoints: 'maxCheckpoints',
  maxAge: 'maxAge',
  maxStoreSize: 'maxStoreSize',
  captureBudget: 'captureBudget',
  taskExportState: 'task.exportState',
  taskAutosaveEvery: 'task.autosaveEvery',
  serverUrl: 'opencode.serverUrl',
  opencodePath: 'opencode.path',
  storeLocation: 'storeLocation',
  backupPath: 'backup.path',
  backupGenerations: 'backup.generations',
  backupDebug: 'backup.debug',
  tools: 'tools',
} as const;
export type SettingKey = (typeof settings)[keyof typeof settings];
