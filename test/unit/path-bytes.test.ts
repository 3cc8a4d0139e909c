import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodePath, encodePath } from '../../src/git/path-bytes';

describe('a name or a line that is not UTF-8', () => {
  it('comes back byte by byte, whatever it is', () => {
    // First and second bytes of every kind of sequence, and what is none.
    const byte = fc.constantFrom(
      ...[0x41, 0xff, 0xc0, 0xc3, 0xe0, 0xa9, 0x82, 0xed, 0x9f, 0xb2, 0xf0, 0x8e, 0x90, 0xf4],
    );
    fc.assert(
      fc.property(fc.array(byte, { maxLength: 16 }), (given) => {
        const bytes = Buffer.from(given);
        const text = decodePath(bytes);
        expect(encodePath(text)).toEqual(bytes);
        // What is UTF-8 is read as it is.
        expect(text.replace(/[\udc80-\udcff]/gu, '\ufffd').replace(/\ufffd+/g, '?')).toBe(
          bytes.toString('utf8').replace(/\ufffd+/g, '?'),
        );
      }),
      { numRuns: 2000 },
    );
  });

  it('is written as Python writes it', () => {
    expect(decodePath(Buffer.from('Stra\xdfe, é', 'latin1'))).toBe('Stra\udcdfe, \udce9');
    expect(decodePath(Buffer.concat([Buffer.from('é🎉 '), Buffer.from([0xff, 0xed, 0xb2, 0x80])]))).toBe(
      'é🎉 \udcff\udced\udcb2\udc80',
    );
  });
});
