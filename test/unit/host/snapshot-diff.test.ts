import { describe, expect, it, vi } from 'vitest';
import { sidesAround } from '../../../src/host/snapshot-diff';
import { linkUri, snapshotUri } from '../../../src/host/uris';
import { uri } from './uri';

vi.mock('vscode', () => ({}));

describe('the sides of a file among many changes', () => {
  const file = uri('/project/a.ts');
  const other = uri('/project/b.ts');
  const [older, newer] = ['cp_1', 'cp_2'].map((id) => snapshotUri(id, file));
  if (older === undefined || newer === undefined) throw new Error('two checkpoints');
  const renamed = snapshotUri('cp_1', uri('/project/old & gone.ts'), file);
  const text = (sides: ReturnType<typeof sidesAround>): string[] | undefined => sides?.map(String);

  it.each([
    ['the working file', file, [other, snapshotUri('cp_0', other), older, file], [older, file]],
    ['its checkpoint', older, [older, file], [older, file]],
    ['the later of two checkpoints', newer, [newer, older], [older, newer]],
    ['the older of two checkpoints', older, [newer, older], [older, newer]],
    ['a file that was renamed', file, [file, renamed], [renamed, file]],
    ['how a renamed file was', renamed, [file, renamed], [renamed, file]],
    ['a link', linkUri(file), [older, linkUri(file)], [older, linkUri(file)]],
  ])('with the focus on %s', (_, active, visible, sides) => {
    expect(text(sidesAround(active, visible))).toEqual(sides.map(String));
  });

  it('are not known without both of them', () => {
    expect(sidesAround(undefined, [older, file])).toBeUndefined();
    expect(sidesAround(file, [file, snapshotUri('cp_1', other)])).toBeUndefined();
    expect(sidesAround(older, [older])).toBeUndefined();
  });
});
