import fc from 'fast-check';

/** Any UTF-16 code units: plain letters mostly, and controls, line breaks, marks, halves of surrogate pairs. */
export function anyText(constraints: { minLength?: number; maxLength?: number } = {}): fc.Arbitrary<string> {
  const unit = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...'abcXYZ 019_-./#`<>&"\\') },
    {
      weight: 2,
      arbitrary: fc.constantFrom(
        '\0',
        '\n',
        '\r',
        '\t',
        '\u0085',
        '\u2028',
        '\u202E',
        '\u0301',
        '\u200D',
        '\u{1F600}',
        '語',
      ),
    },
    { weight: 1, arbitrary: fc.nat(0xffff).map((code) => String.fromCharCode(code)) },
  );
  return fc.string({ unit, ...constraints });
}
