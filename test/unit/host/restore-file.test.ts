import { beforeEach, describe, expect, it, vi } from 'vitest';
import type * as vscode from 'vscode';
import type { PlanAction } from '../../../src/core/model';
import { restoreFile } from '../../../src/host/actions-restore';
import type { Target } from '../../../src/host/diff';
import { RestoreFlow } from '../../../src/host/restore-flow';
import type { Services } from '../../../src/host/services';
import { nothingUri, snapshotUri } from '../../../src/host/uris';
import { record } from './record';
import { uri } from './uri';

/** VS Code with one diff in front and a user who answers; the real one is in the host suite. */
const fake = vi.hoisted(() => {
  class TabInputTextDiff {
    constructor(
      readonly original: unknown,
      readonly modified: unknown,
    ) {}
  }
  const activeTab = { input: undefined as unknown };
  return {
    activeTab,
    vscode: {
      TabInputTextDiff,
      Uri: class {},
      workspace: { isTrusted: true, textDocuments: [], notebookDocuments: [] },
      window: {
        tabGroups: { activeTabGroup: { activeTab }, all: [] },
        showWarningMessage: vi.fn<(message: string, options: vscode.MessageOptions) => Promise<string | undefined>>(),
        showInformationMessage: vi.fn(async () => undefined),
        withProgress: async (_: unknown, task: () => unknown) => task(),
      },
    },
  };
});
vi.mock('vscode', () => fake.vscode);

const file = uri('/project/new.ts');
const { window, TabInputTextDiff } = fake.vscode;

describe('“Restore This File” in a diff', () => {
  const restorePaths = vi.fn<(target: Target, paths: string[]) => Promise<boolean>>(async () => true);
  const root = { api: { resolve: async (id: string) => record(id) }, toRelative: () => 'new.ts' };
  const services = {
    workspaces: { forUri: async () => root },
    flow: { restorePaths },
    gutter: { target: { root, checkpoint: record('cp_gutter') } },
  } as unknown as Services;

  it.each([
    ['a file', snapshotUri],
    ['a file that was not there', nothingUri],
  ])('means the checkpoint of its left side, not the one of the gutter: %s', async (_, side) => {
    fake.activeTab.input = new TabInputTextDiff(side('cp_left', file), file);
    await restoreFile(services, file);
    const [target, paths] = restorePaths.mock.lastCall ?? [];
    expect(target?.checkpoint.id).toBe('cp_left');
    expect(paths).toEqual(['new.ts']);
  });

  it('means the diff that it was offered for, not the one in front by now', async () => {
    fake.activeTab.input = new TabInputTextDiff(snapshotUri('cp_front', file), file);
    await restoreFile(services, new TabInputTextDiff(snapshotUri('cp_offered', file), file));
    expect(restorePaths.mock.lastCall?.[0].checkpoint.id).toBe('cp_offered');
  });
});

describe('restoring by name', () => {
  const restore = vi.fn(async () => ({
    restored: [],
    deleted: [],
    kept: [],
    skipped: [],
    session: null,
    undo: null,
  }));
  const log = { info: () => undefined, error: () => undefined } as unknown as vscode.LogOutputChannel;
  const chooser = { choose: async () => undefined, cancel: async () => undefined };
  const flow = new RestoreFlow(chooser, log, async () => undefined);
  const run = (action: PlanAction): Promise<boolean> => {
    const plan = async () => ({ scope: ['files'], entries: [{ path: 'new.ts', action }] });
    const target = { root: { api: { plan, restore } }, checkpoint: record('cp_1', { title: 'Then' }) };
    return flow.restorePaths(target as unknown as Target, ['new.ts']);
  };

  beforeEach(() => vi.clearAllMocks());

  it('asks before it deletes the file', async () => {
    window.showWarningMessage.mockResolvedValueOnce(undefined);
    expect(await run('delete')).toBe(false);
    expect(restore).not.toHaveBeenCalled();
    const [message, options] = window.showWarningMessage.mock.lastCall ?? [];
    expect(message).toBe('Restore new.ts as it was at “Then”?');
    expect(options).toMatchObject({ modal: true });
    expect(options?.detail).toMatch(/^1 file made since then will be deleted\.\n/);
    window.showWarningMessage.mockResolvedValueOnce('Restore');
    expect(await run('delete')).toBe(true);
    expect(restore).toHaveBeenCalledOnce();
  });

  it('asks nothing where it only writes', async () => {
    expect(await run('write')).toBe(true);
    expect(window.showWarningMessage).not.toHaveBeenCalled();
  });
});
