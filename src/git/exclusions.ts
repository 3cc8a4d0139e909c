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
  'id_ecdsa*',
  'id_dsa*',
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

/** A folder in the root, and what is on its way into a folder on another volume. */
export const stagePrefix = '.opencode-checkpoints-stage-';

/** Decides what is always out, whatever ignore files say. `!pattern` in the settings lifts a default. */
export class Exclusions {
  private readonly secrets: Ignore;
  private readonly own: Ignore;

  /** Matches every path that one of the patterns can match, and few others: asking it first is many times cheaper. */
  private readonly maybe: RegExp;

  private readonly patterns: readonly string[];

  constructor(patterns: readonly string[]) {
    this.patterns = patterns = patterns.map(withoutTrailingSpaces);
    this.maybe = anyComponent([...secretPatterns, ...patterns, ...ownPatterns, `${stagePrefix}*`]);
    this.secrets = ignore({ allowRelativePaths: true }).add([...secretPatterns, ...patterns]);
    this.own = ignore({ allowRelativePaths: true }).add([...ownPatterns, `${stagePrefix}*`]);
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
    const { patterns } = this;
    const whole = patterns.filter(
      (p, i) => p.endsWith('/') && !p.startsWith('!') && !mayLift(p, patterns.slice(i + 1)),
    );
    return [`/${stagePrefix}*/`, ...whole];
  }
}

/** As git reads its ignore files: a space that counts has a backslash before it. */
function withoutTrailingSpaces(pattern: string): string {
  const bare = pattern.replace(/ +$/, '');
  return bare.endsWith('\\') && bare !== pattern ? `${bare} ` : bare;
}

/** Whether a later pattern takes a folder's exclusion back, somewhere. Of one with wildcards any may: it can mean many folders. */
function mayLift(folder: string, later: readonly string[]): boolean {
  const last = (pattern: string): string => pattern.replace(/\/+$/, '').split('/').at(-1) ?? '';
  const name = last(folder);
  const lifts = later.filter((pattern) => pattern.startsWith('!')).map((pattern) => last(pattern.slice(1)));
  return lifts.some((lift) => /[*?[\\]/.test(name) || lift === '**' || ignore().add(lift).ignores(name));
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
