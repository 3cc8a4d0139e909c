/** An object as its base with some of it replaced: pieces of the base, and bytes of its own. */
export function applyDelta(base: Buffer, delta: Buffer): Buffer {
  let at = 0;
  const length = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = delta[at++]!;
      value += (byte & 0x7f) * factor;
      if ((byte & 0x80) === 0) return value;
    }
  };
  if (length() !== base.length) throw new Error('a delta of another base');
  const size = length();
  const parts: Buffer[] = [];
  while (at < delta.length) {
    const order = delta[at++]!;
    if (order & 0x80) {
      const number = (bytes: number, flags: number): number => {
        let value = 0;
        for (let i = 0; i < bytes; i++) if (flags & (1 << i)) value += delta[at++]! * 2 ** (8 * i);
        return value;
      };
      const from = number(4, order & 15);
      const count = number(3, (order >> 4) & 7) || 0x10000;
      parts.push(base.subarray(from, from + count));
    } else {
      parts.push(delta.subarray(at, at + order));
      at += order;
    }
  }
  const out = Buffer.concat(parts);
  if (out.length !== size) throw new Error('a delta that does not give what it says');
  return out;
}
