import { describe, expect, it } from 'vitest';
import { withEmptyFolders } from '../../../src/host/ticked-paths';

const shown = ['README.md', 'docs/a.md', 'docs/more/b.md', 'src/x.ts'];
const empty = ['docs/drafts', 'docs/more/deep/er', 'logs', 'src/gen'];
const come = (...left: string[]): string[] => {
  const ticked = new Set(shown.filter((path) => !left.includes(path)));
  return withEmptyFolders(shown, ticked, empty).filter((path) => !ticked.has(path));
};

describe('what is ticked in a restore plan', () => {
  it('brings the empty folders of a folder that is ticked as a whole', () => {
    expect(come()).toEqual(empty);
    expect(come('README.md')).toEqual(['docs/drafts', 'docs/more/deep/er', 'src/gen']);
    expect(come('docs/a.md')).toEqual(['docs/more/deep/er', 'src/gen']);
    expect(come('docs/more/b.md')).toEqual(['src/gen']);
    expect(come('src/x.ts')).toEqual(['docs/drafts', 'docs/more/deep/er']);
  });

  it('brings none where nothing is ticked, or nothing is shown', () => {
    expect(come(...shown)).toEqual([]);
    expect(withEmptyFolders([], new Set(), empty)).toEqual([]);
  });

  it('keeps every tick', () => {
    expect(withEmptyFolders(shown, new Set(['src/x.ts']), [])).toEqual(['src/x.ts']);
  });
});
