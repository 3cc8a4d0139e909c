/** git's own measure: at least half of the larger file has to be in the other one. */
const whole = 60_000;
const half = 30_000;

/** A file's pieces (lines, or 64 bytes of longer ones), each with the bytes it makes up. */
export type Pieces = Map<number, number>;

/** git's hash of a piece; what it takes for equal is equal here. */
export function piecesOf(data: Buffer, binary: boolean): Pieces {
  const pieces: Pieces = new Map();
  let one = 0;
  let two = 0;
  let length = 0;
  const end = (): void => {
    const hash = ((one + Math.imul(two, 0x61)) >>> 0) % 107_927;
    pieces.set(hash, (pieces.get(hash) ?? 0) + length);
    one = two = length = 0;
  };
  for (let i = 0; i < data.length; i++) {
    const byte = data[i]!;
    // Text with other line ends is the same text.
    if (!binary && byte === 13 && data[i + 1] === 10) continue;
    const old = one;
    one = (((one << 7) ^ (two >>> 25)) + byte) >>> 0;
    two = ((two << 7) ^ (old >>> 25)) >>> 0;
    length += 1;
    if (length >= 64 || byte === 10) end();
  }
  if (length > 0) end();
  return pieces;
}

/** Whether the sizes alone let git take one for a renamed other. */
export function comparableSizes(a: number, b: number): boolean {
  const larger = Math.max(a, b);
  return larger * (whole - half) >= (larger - Math.min(a, b)) * whole;
}

/** Whether git would take one for a renamed other. */
export function areSimilar(from: Pieces, fromSize: number, to: Pieces, toSize: number): boolean {
  let copied = 0;
  for (const [hash, length] of from) copied += Math.min(length, to.get(hash) ?? 0);
  const larger = Math.max(fromSize, toSize);
  return larger > 0 && Math.floor((copied * whole) / larger) >= half;
}
