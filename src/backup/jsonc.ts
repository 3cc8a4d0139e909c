/** JSON as people write it: with comments, and a comma too many. Null when it is not even that. */
export function parseJsonc(text: string): unknown {
  let plain = '';
  for (const [token] of text.replace(/^\uFEFF/, '').matchAll(/"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[^]*?\*\/|[^"/]+|[^]/g))
    if (!token.startsWith('//') && !token.startsWith('/*')) plain += token;
  try {
    return JSON.parse(withoutTrailingCommas(plain)) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

function withoutTrailingCommas(text: string): string {
  return text.replace(/"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])/g, (token) => (token === ',' ? '' : token));
}
