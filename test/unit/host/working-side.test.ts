import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { openChangeDiff, type Target } from '../../../src/host/diff';
import { isStill } from '../../../src/host/working-side';
import { record } from './record';
import { uri } from './uri';

const fake = vi.hoisted(() => ({ commands: { executeCommand: vi.fn() } }));
vi.mock('vscode', () => fake);

type Kind = 'file' | 'link' | 'folder';

describe('one file among many', () => {
  let folder: string;
  const toUri = (path: string) => uri(join(folder, path));
  /** A checkpoint with one path. */
  const place = (then: { kind: Kind; content: string } | null) => ({
    api: {
      stat: async () => then && { kind: then.kind, size: Buffer.byteLength(then.content) },
      cat: async () => Buffer.from(then?.content ?? ''),
    },
    toUri,
  });

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'checkpoints-still-'));
    writeFileSync(join(folder, 'file'), 'für\n');
    symlinkSync('file', join(folder, 'link'));
    symlinkSync('nowhere', join(folder, 'dangling'));
    mkdirSync(join(folder, 'folder'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each<[path: string, then: { kind: Kind; content: string } | null, still: boolean]>([
    ['file', { kind: 'file', content: 'für\n' }, true],
    ['file', { kind: 'file', content: 'fUr\n' }, false],
    ['file', { kind: 'file', content: 'gar\n' }, false],
    ['file', { kind: 'link', content: 'für\n' }, false],
    ['file', null, false],
    ['link', { kind: 'link', content: 'file' }, true],
    ['link', { kind: 'link', content: 'life' }, false],
    ['link', { kind: 'file', content: 'für\n' }, false],
    ['dangling', { kind: 'link', content: 'nowhere' }, true],
    ['folder', { kind: 'file', content: '' }, false],
    ['gone', { kind: 'file', content: '' }, false],
    ['gone', null, true],
  ])('%s is still %j: %s', async (path, then, still) => {
    expect(await isStill(place(then), 'cp_1', path)).toBe(still);
  });

  it('is opened without a look at all the others', async () => {
    const { api } = place({ kind: 'file', content: 'für\n' });
    const diff = vi.fn(() => Promise.reject(new Error('all files were looked at')));
    const target = { root: { api: { ...api, diff }, toUri }, checkpoint: record('cp_2') } as unknown as Target;
    const change = { path: 'file', status: 'modified', additions: 1, deletions: 1, binary: false } as const;
    for (const wholeTurn of [false, true]) {
      await openChangeDiff(target, { before: record('cp_1'), wholeTurn }, change);
      expect(String(fake.commands.executeCommand.mock.lastCall?.[2])).toBe(String(toUri('file')));
      expect(fake.commands.executeCommand.mock.lastCall?.[3]).toContain('Working File');
    }
    expect(diff).not.toHaveBeenCalled();
  });
});
