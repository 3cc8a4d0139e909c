const named = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
]);

/**
 * Shows control characters, line breaks and bidirectional overrides instead of obeying them. A file name or a prompt may hold any
 * of them, and printed raw they move the cursor, break a table row or make text read as something else. Bytes of a name that are not
 * UTF-8 are shown as JSON shows them, so that they can be typed.
 */
export function visible(text: string): string {
  return text.replace(/[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, (char) => {
    const code = char.codePointAt(0)!.toString(16);
    return named.get(char) ?? (/\p{Cs}/u.test(char) ? `\\u${code}` : `\\u{${code}}`);
  });
}

/** All of a longer text, its lines below each other from the same column on. */
export function paragraphs(text: string, indent: number): string {
  const lines = text.replace(/\s+$/, '').split(/\r\n|[\n\r\u2028\u2029]/);
  return lines.map((line, i) => (i > 0 && line !== '' ? ' '.repeat(indent) : '') + visible(line)).join('\n');
}

/** Cut to one line, for a table cell or a sentence. */
export function firstLine(text: string): string {
  const end = text.search(/[\r\n]/);
  return end < 0 ? text : `${text.slice(0, end)} …`;
}
