import { describe, expect, it } from 'vitest';
import { comparable, hasFiles, isWhole } from '../../src/core/files-facet';
import type { FilesFacet } from '../../src/core/model';

const holding = (only?: string[]): { files: FilesFacet } => ({ files: { only } as FilesFacet });

describe('the files of a checkpoint', () => {
  it.each([
    [undefined, true, true],
    [['a.txt'], false, true],
    [[], false, false],
  ])('that holds only %j', (only, whole, some) => {
    expect([isWhole(holding(only)), hasFiles(holding(only))]).toEqual([whole, some]);
  });

  it.each([
    ['all of both', [undefined, undefined], [], undefined],
    ['what was asked for', [undefined, undefined], ['src'], ['src']],
    ['what one of them holds', [['a', 'b/c'], undefined], [], ['a', 'b/c']],
    ['what one of them holds below a folder', [['a', 'b/c', 'bc'], undefined], ['b'], ['b/c']],
    ['what one of them holds, for the whole', [['a'], undefined], [''], ['a']],
    [
      'what both hold',
      [
        ['a', 'b'],
        ['b', 'c'],
      ],
      [],
      ['b'],
    ],
    ['nothing', [['a'], ['c']], [], []],
    ['nothing that was asked for', [['a'], undefined], ['z'], []],
  ] as Array<[string, Array<string[] | undefined>, string[], string[] | undefined]>)(
    'can be compared in %s',
    (_what, held, asked, paths) => {
      expect(comparable(held.map(holding), asked)).toEqual(paths);
    },
  );
});
