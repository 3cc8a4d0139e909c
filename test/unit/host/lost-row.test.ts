import { describe, expect, it } from 'vitest';
import { commands } from '../../../src/host/ids';
import { rowIsLost } from '../../../src/host/lost-row';

const row = { type: 'checkpoint' };

describe('a row that VS Code does not know any more', () => {
  it.each<[what: string, lost: boolean, id: string, args: unknown[]]>([
    ['a click on a row', false, commands.restore, [row, undefined]],
    ['a click on a row that is drawn anew', true, commands.restore, [undefined, undefined]],
    ['a click on one of several', false, commands.delete, [row, [row, row]]],
    ['a click on one of several, of which another is drawn anew', true, commands.delete, [row, [row, undefined]]],
    ['the palette', false, commands.restore, []],
    ['somebody who says that nothing is selected', false, commands.compareSelected, [undefined, []]],
    ['another extension that names none', false, commands.restore, [undefined]],
    ['a button in the title of a view in which nothing is selected', false, commands.create, [undefined, undefined]],
  ])('%s: %s', (_, lost, id, args) => {
    expect(rowIsLost(id, args)).toBe(lost);
  });
});
