import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodePath, encodePath } from '../../src/git/path-bytes';

describe('a name or a line that is not UTF-8', () => {
  it('comes back byte by byte, whatever it is', () => {
    const pieces = fc.oneof(
      fc.uint8Array({ maxLength: 6 }),
      fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        const bytes = Buffer.concat(parts);
        expect(encodePath(decodePath(bytes))).toEqual(bytes);
      }),
      { numRuns: 1000 },
    );
  });

  it('is written as Python writes it', () => {
    expect(decodePath(Buffer.from('Stra\xdfe, é', 'latin1'))).toBe('Stra\udcdfe, \udce9');
    expect(decodePath(Buffer.concat([Buffer.from('é🎉 '), Buffer.from([0xff, 0xed, 0xb2, 0x80])]))).toBe(
      'é🎉 \udcff\udced\udcb2\udc80',
    );
  });
});
