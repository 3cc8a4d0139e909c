import { createHash } from 'node:crypto';
import ignore, { type Ignore } from 'ignore';

/** Secrets and credential files of the usual tools: never captured, never touched by a restore. */
export const secretPatterns: readonly string[] = [
  '.env',
  '.env.*',
  '*.pem',
  '*.key',
  'id_rsa*',
  'id_ed25519*',
  '*.p12',
  '*.pfx',
  '.netrc',
  '.npmrc',
  '.pypirc',
  '.pgpass',
  '.git-credentials',
  '.aws/credentials',
  '.docker/config.json',
  '.kube/config',
  'credentials.json',
];

/** Ours: they must not travel back in time with the files. */
const ownPatterns = [
  '/.opencode/plugin/opencode-checkpoints.js',
  '/.opencode/plugins/opencode-checkpoints.js',
  '/.opencode/state/',
];

export const stagePrefix = '.opencode-checkpoints-stage-';

/** Decides what is always out, whatever ignore files say. `!pattern` in the settings lifts a default. */
export class Exclusions {
  private readonly secrets: Ignore;
  private readonly own: Ignore;

  /** Matches every path that one of the patterns can match, and few others: asking it first is many times cheaper. */
  private readonly maybe: RegExp;

  constructor(readonly patterns: readonly string[]) {
    this.maybe = anyComponent([...secretPatterns, ...patterns, ...ownPatterns, `/${stagePrefix}*/`]);
    this.secrets = ignore({ allowRelativePaths: true }).add([...secretPatterns, ...patterns]);
    this.own = ignore({ allowRelativePaths: true }).add([...ownPatterns, `/${stagePrefix}*/`]);
  }

  /** `own` ones are not worth naming in a record; `excluded` ones are. */
  why(path: string): 'own' | 'excluded' | null {
    if (path === '' || path.startsWith('/') || !this.maybe.test(path)) return null;
    if (this.own.ignores(path)) return 'own';
    return this.secrets.ignores(path) ? 'excluded' : null;
  }

  /** Short name of the rules: captures made under other rules are not comparable entry by entry. */
  fingerprint(maxFileSize: number): string {
    const text = JSON.stringify([secretPatterns, ownPatterns, this.patterns, maxFileSize]);
    return createHash('sha256').update(text).digest('hex').slice(0, 12);
  }

  /** Whole folders can be kept out of git's walk as well; files are filtered here, so that they can be named. */
  get folderPatterns(): string[] {
    return [`/${stagePrefix}*/`, ...this.patterns.filter((p) => p.endsWith('/') && !p.startsWith('!'))];
  }
}

/**
 * A path with the last components of any pattern in it, written so that most paths fail at once. Patterns that end in a free
 * wildcard match everything.
 */
function anyComponent(patterns: string[]): RegExp {
  const tails = patterns
    .filter((pattern) => !pattern.startsWith('!') && !pattern.startsWith('#'))
    .map((pattern) => {
      const parts = pattern.replace(/\/+$/, '').split('/');
      const last = parts.at(-1) ?? '';
      const above = parts.at(-2) ?? '';
      return above === '' || /[*?[\]\\]/.test(above) ? last : `${above}/${last}`;
    });
  if (tails.some((tail) => /^[*?]*$/.test(tail) || /[[\]\\]/.test(tail))) return /(?:)/;
  const source = (tail: string): string =>
    tail
      .replace(/[.+^${}()|]/g, '\\$&')
      .replace(/\*+/g, '[^/]*')
      .replace(/\?/g, '[^/]');
  const rules = tails.map((tail) => {
    const inner = source(tail.replace(/^\*+|\*+$/g, ''));
    return `${tail.startsWith('*') ? '' : '(?:^|/)'}${inner}${tail.endsWith('*') ? '' : '(?:/|$)'}`;
  });
  return new RegExp(rules.join('|'), 'i');
}
