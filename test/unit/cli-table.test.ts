import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { fit, table } from '../../src/cli/table';
import { firstLine, paragraphs, visible } from '../../src/cli/visible';
import { size } from '../../src/cli/views/size';

const columns = [{ header: 'ID' }, { header: 'N', align: 'right' as const }, { header: 'TITLE', flexible: true }];

describe('tables', () => {
  it('aligns columns, also under wide characters', () => {
    const text = table(columns, [
      ['a', '1', 'one'],
      ['日本', '22', 'two'],
      ['👩‍👩‍👧', '333', 'three'],
    ]);
    expect(text).toBe(['ID      N  TITLE', 'a       1  one', '日本   22  two', '👩‍👩‍👧    333  three', ''].join('\n'));
  });

  it('cuts the flexible column only, and only on a terminal', () => {
    const rows = [['abc', '1', 'x'.repeat(100)]];
    const cut = table(columns, rows, { width: 40 }).trimEnd().split('\n');
    for (const line of cut) expect(stringWidth(line)).toBeLessThanOrEqual(40);
    expect(cut[1]).toMatch(/^abc {2}1 {2}x+…$/);
    expect(table(columns, rows)).toContain('x'.repeat(100));
  });

  it('leaves columns out where there is no room for them all, and none where there is', () => {
    const [id, number, title] = columns;
    const some = [id!, { ...number!, spare: 2 }, { header: 'KIND', spare: 1 }, title!];
    const rows = [['abc', '1', 'manual', 'a long title of it']];
    const heads = [40, 28, 20, 10].map((width) => table(some, rows, { width }).split('\n')[0]);
    expect(heads).toEqual(['ID   N  KIND    TITLE', 'ID   N  KIND    TITLE', 'ID   N  TITLE', 'ID   TITLE']);
    expect(table(some, rows)).toContain('KIND');
  });

  it('never breaks a row, whatever a cell holds', () => {
    const text = table([{ header: 'NAME' }], [['a|b\nc\u001b[31m\u202eevil']]);
    expect(text.split('\n')).toHaveLength(3);
    expect(text).toContain('a|b\\nc\\u{1b}[31m\\u{202e}evil');
  });

  it('does not halve an emoji', () => {
    expect(fit('👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧', 4)).toBe('👩‍👩‍👧…');
    expect(fit('abc', 3)).toBe('abc');
  });
});

describe('text for terminals', () => {
  it('leaves ordinary text alone', () => expect(visible('héllo "x" | 日本 👍')).toBe('héllo "x" | 日本 👍'));
  it('shows a longer text line by line, and obeys nothing in it', () => {
    expect(paragraphs('one\r\n\ntwo\u001b[31m\n', 4)).toBe('one\n\n    two\\u{1b}[31m');
  });
  it('takes the first line', () => {
    expect(firstLine('one\ntwo')).toBe('one …');
    expect(firstLine('one')).toBe('one');
  });
  it.each([
    [0, '0 B'],
    [999, '999 B'],
    [1000, '1.0 KB'],
    [123_456, '123 KB'],
    [2_000_000_000, '2.0 GB'],
  ])('%d bytes are %s', (bytes, text) => expect(size(bytes)).toBe(text));
});
