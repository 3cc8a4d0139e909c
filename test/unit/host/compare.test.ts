import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type * as vscode from 'vscode';
import { compareCheckpoints, compareWithWorking, type Target } from '../../../src/host/diff';
import { RestoreFlow } from '../../../src/host/restore-flow';
import { record } from './record';

/** VS Code's progress, and somebody who presses Cancel as soon as it is offered. */
const fake = vi.hoisted(() => {
  const shown: Array<{ location: unknown; title?: string; cancellable?: boolean }> = [];
  return {
    shown,
    ProgressLocation: { Notification: 15 },
    workspace: { isTrusted: true },
    commands: { executeCommand: vi.fn() },
    window: {
      withProgress: async (
        options: (typeof shown)[number],
        task: (progress: unknown, token: { onCancellationRequested(cancel: () => void): void }) => unknown,
      ) => {
        shown.push(options);
        const token = { onCancellationRequested: (cancel: () => void) => void setTimeout(cancel) };
        return task({ report: () => undefined }, token);
      },
    },
  };
});
vi.mock('vscode', () => fake);

const chooser = { choose: async () => undefined, cancel: async () => undefined };
const flow = new RestoreFlow(chooser, {} as vscode.LogOutputChannel, async () => undefined);

describe('a look at the files that takes long', () => {
  beforeEach(() => {
    vi.useFakeTimers();
    fake.shown.length = 0;
  });
  afterEach(() => void vi.useRealTimers());

  const never = () => new Promise(() => undefined);
  const root = { api: { diff: never, plan: never } } as unknown as Target['root'];
  const target = { root, checkpoint: record('cp_1') };

  it.each([
    ['to compare them', 'Comparing', () => compareWithWorking(target)],
    ['of two checkpoints', 'Comparing', () => compareCheckpoints(root, target.checkpoint, record('cp_2'))],
    ['to restore one', 'Looking at what would change', () => flow.restorePaths(target, ['a.ts'])],
  ])('%s says so after a second, and can be cancelled', async (_, words, look) => {
    const ended = expect(look()).rejects.toMatchObject({ reason: 'cancelled' });
    await vi.advanceTimersByTimeAsync(900);
    expect(fake.shown.map(({ title }) => title)).toEqual([undefined]);
    await vi.advanceTimersByTimeAsync(200);
    expect(fake.shown[1]).toEqual({ location: 15, title: words, cancellable: true });
    await ended;
    expect(fake.commands.executeCommand).not.toHaveBeenCalled();
  });
});
