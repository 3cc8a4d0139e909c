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

/** Walks sequence by sequence: valid ones decode, any other byte is escaped alone. What is ASCII goes at once: a patch is long. */
function decodeMixed(bytes: Uint8Array): string {
  let out = '';
  for (let i = 0; i < bytes.length;) {
    let end = i;
    while (end < bytes.length && bytes[end]! < 0x80) end += 1;
    if (end > i) {
      out += Buffer.from(bytes.buffer, bytes.byteOffset + i, end - i).toString('latin1');
      i = end;
      continue;
    }
    const first = bytes[i]!;
    const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 0;
    const part = length > 0 ? tryDecode(bytes.subarray(i, i + length), length) : null;
    if (part === null) {
      out += String.fromCharCode(0xdc00 + first);
      i += 1;
    } else {
      out += part;
      i += length;
    }
  }
  return out;
}

function tryDecode(bytes: Uint8Array, length: number): string | null {
  if (bytes.length < length) return null;
  try {
    return strict.decode(bytes);
  } catch {
    return null;
  }
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
