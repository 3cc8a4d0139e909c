/**
 * File names are bytes; the rest of the product speaks strings. Bytes that are not UTF-8 become lone
 * surrogates U+DC80..U+DCFF (as Python's surrogateescape does): they survive JSON and come back exactly. So do the lines of a patch.
 */

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const lone = /[\udc80-\udcff]/;
const nonAscii = /[\u0080-\uffff]/;

export function decodePath(bytes: Uint8Array): string {
  // Most names are ASCII, and for those the fast way is the right one.
  const plain = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  if (!nonAscii.test(plain)) return plain;
  try {
    return strict.decode(bytes);
  } catch {
    return decodeMixed(bytes);
  }
}

/** Whether a path's bytes are its characters, so that no buffer has to be made for it. */
export function isAscii(path: string): boolean {
  return !nonAscii.test(path);
}

/** Valid sequences decode, any other byte is escaped alone. A patch is long: what is valid goes at once. */
function decodeMixed(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let out = '';
  let from = 0;
  for (let i = 0; i < bytes.length;) {
    const length = sequenceAt(bytes, i);
    if (length === 0) {
      out += buffer.toString('utf8', from, i) + String.fromCharCode(0xdc00 + bytes[i]!);
      from = i + 1;
    }
    i += length || 1;
  }
  return out + buffer.toString('utf8', from);
}

/** How many bytes the character here has; 0 where there is none. */
function sequenceAt(bytes: Uint8Array, at: number): number {
  const first = bytes[at]!;
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  // Overlong forms, surrogates, and what is beyond Unicode differ from the rest in the second byte.
  const low = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const high = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  if (!(bytes[at + 1]! >= low && bytes[at + 1]! <= high)) return 0;
  for (let i = at + 2; i < at + length; i++) if (!(bytes[i]! >= 0x80 && bytes[i]! <= 0xbf)) return 0;
  return length;
}

export function encodePath(path: string): Buffer {
  if (!lone.test(path)) return Buffer.from(path, 'utf8');
  const parts: Buffer[] = [];
  let plain = '';
  for (const char of path) {
    const code = char.charCodeAt(0);
    if (char.length === 1 && code >= 0xdc80 && code <= 0xdcff) {
      if (plain) parts.push(Buffer.from(plain, 'utf8'));
      plain = '';
      parts.push(Buffer.from([code - 0xdc00]));
    } else {
      plain += char;
    }
  }
  if (plain) parts.push(Buffer.from(plain, 'utf8'));
  return Buffer.concat(parts);
}

/** What node:fs takes: a string where possible, bytes where the name is not UTF-8. */
export function fsPath(root: string, path: string): string | Buffer {
  const joined = path === '' ? root : `${root}/${path}`;
  return lone.test(joined) ? encodePath(joined) : joined;
}

/** Order of bytes, which is git's order. */
export function comparePaths(a: string, b: string): number {
  if (!nonAscii.test(a) && !nonAscii.test(b)) return a < b ? -1 : a > b ? 1 : 0;
  return Buffer.compare(encodePath(a), encodePath(b));
}
