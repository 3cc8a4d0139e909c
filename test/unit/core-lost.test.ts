import { describe, expect, it } from 'vitest';
import { lossInWords } from '../../src/core/lost';

const nothing = { refs: [], records: [], content: [] };

describe('what is lost, in words', () => {
  it.each([
    [{}, null],
    [{ refs: ['cp_1'] }, '1 checkpoint has lost its ref and is not listed: cp_1.'],
    [
      { refs: ['cp_1', 'cp_2', 'cp_3', 'cp_4'] },
      '4 checkpoints have lost their refs and are not listed: cp_1, cp_2, cp_3, and more.',
    ],
    [
      { records: ['cp_1'], content: ['cp_2', 'cp_3'] },
      '1 checkpoint cannot be read: cp_1. 2 checkpoints have lost content: cp_2, cp_3.',
    ],
  ])('%j', (lost, words) => {
    expect(lossInWords({ ...nothing, ...lost })).toBe(words);
  });
});
