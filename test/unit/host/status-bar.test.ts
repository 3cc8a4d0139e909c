import { describe, expect, it, vi } from 'vitest';
import type * as vscode from 'vscode';
import type { BackupStatus } from '../../../src/backup/api';
import { CheckpointsError } from '../../../src/core/errors';
import type { Backup } from '../../../src/host/backup';
import { StatusBar } from '../../../src/host/status-bar';
import type { Workspaces } from '../../../src/host/workspaces';
import { record } from './record';

/** The one item of the status bar; a real one cannot be read back. */
const fake = vi.hoisted(() => {
  const item = { text: '', command: '', accessibilityInformation: undefined as { label: string } | undefined };
  return {
    item,
    vscode: {
      StatusBarAlignment: { Left: 1 },
      ThemeColor: class {},
      MarkdownString: class {
        appendMarkdown(): this {
          return this;
        }
      },
      Disposable: { from: () => ({ dispose: () => undefined }) },
      env: { language: 'en' },
      workspace: { isTrusted: true },
      window: { createStatusBarItem: () => Object.assign(item, { show: () => undefined, hide: () => undefined }) },
    },
  };
});
vi.mock('vscode', () => fake.vscode);

const none = () => ({ dispose: () => undefined });
const log = { warn: vi.fn() } as unknown as vscode.LogOutputChannel;
const problem = { trouble: 'destination-full', message: 'The disk is full.' };
const failing = { state: 'problem', problem, running: null } as unknown as BackupStatus;

describe('the status bar', () => {
  it('says aloud what its warning is about', async () => {
    let rootsChanged = (): void => undefined;
    const files = { ...record('x').files, modified: 2, partial: [{ path: 'a', reason: 'denied' }] };
    const newest = { ...record('x'), createdAt: new Date().toISOString(), files };
    const root = {
      api: {
        root: '/r',
        folder: '/f',
        list: async () => [newest],
        lost: () => ({ refs: [], records: [], content: [] }),
      },
    };
    const folder = { name: 'other' };
    const failed = [{ folder, error: new CheckpointsError('refused-root', 'It is a home folder.') }];
    const workspaces = {
      ...{ current: [root], failed, failures: failed.map(({ error }) => error), operation: null },
      ...{ onDidChange: none, onDidChangeOperation: none },
      onDidChangeRoots: (listener: () => void) => {
        rootsChanged = listener;
        return none();
      },
    } as unknown as Workspaces;
    const bar = new StatusBar(workspaces, { status: failing, onDidChange: none } as unknown as Backup, log);
    rootsChanged();
    await vi.waitFor(() => expect(fake.item.text).toBe('$(warning) now'));
    expect(fake.item.accessibilityInformation?.label).toBe(
      [
        'Last checkpoint now, 2 modified.',
        'Not whole: some files could not be read.',
        'other could not be opened. Checkpoints are not kept for this folder. It is a home folder. Open a project folder instead.',
        'Backup: The disk is full. Free some space there, or choose another folder.',
      ].join(' '),
    );
    bar.dispose();
  });

  it('leads to the view and its buttons where no folder could be opened', () => {
    const error = new CheckpointsError('git-missing', 'git was not found on PATH');
    const failed = [{ folder: { name: 'project' }, error }];
    const workspaces = {
      ...{ current: [], failed, failures: [error], operation: null },
      ...{ onDidChange: none, onDidChangeOperation: none, onDidChangeRoots: none },
    } as unknown as Workspaces;
    new StatusBar(workspaces, { status: null, onDidChange: none } as unknown as Backup, log).dispose();
    expect([fake.item.text, fake.item.command]).toEqual(['$(warning) Checkpoints', 'opencodeCheckpoints.tree.focus']);
  });
});
