import { statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { findUserRepo, globalExcludes, headTree, readHead, type Head, type UserRepo } from './user-repo';

export interface HeadFacts {
  head: Head;
  /** The tree of the user's last commit; null when there is none. */
  tree: string | null;
}

interface Facts {
  repo: UserRepo | null;
  excludesFile: string;
}

/** As far as it is known beforehand. */
export type ExpectedFacts = Partial<Facts> & Pick<Facts, 'repo'>;

/** Configuration included from other files is looked at this often at least. */
const longestMs = 60_000;

/**
 * What the user's git says, asked again only when a file it comes from changed: a scan then costs one git process,
 * not four.
 */
export class UserFacts {
  private known: { stamp: string; at: number; facts: Facts } | null = null;
  private lastHead: HeadFacts | null = null;
  /** What was found a moment ago, with the stamp of then. */
  private expected: { stamp: string; facts: ExpectedFacts } | null = null;

  constructor(
    private readonly root: string,
    /** What the store itself knows about a commit of the user's: its objects may be borrowed. */
    private readonly treeAtHand: (commit: string) => Promise<string | null>,
  ) {}

  async facts(): Promise<Facts> {
    const stamp = this.stamp(this.known?.facts.repo ?? null);
    if (this.known && this.known.stamp === stamp && Date.now() - this.known.at < longestMs) return this.known.facts;
    const expected = this.takeExpected();
    const [repo, excludesFile] = await Promise.all([
      expected.repo === undefined ? findUserRepo(this.root) : expected.repo,
      expected.excludesFile ?? globalExcludes(this.root),
    ]);
    const facts = { repo, excludesFile };
    this.known = { stamp: this.stamp(repo), at: Date.now(), facts };
    return facts;
  }

  expect(facts: ExpectedFacts): void {
    this.expected = { stamp: this.stamp(facts.repo), facts };
  }

  private takeExpected(): Partial<Facts> {
    const { expected } = this;
    this.expected = null;
    return expected && expected.stamp === this.stamp(expected.facts.repo) ? expected.facts : {};
  }

  private async treeOf(commit: string): Promise<string | null> {
    return (await this.treeAtHand(commit)) ?? (await headTree(this.root));
  }

  private stamp(repo: UserRepo | null): string {
    const config = process.env.XDG_CONFIG_HOME || join(homedir(), '.config');
    const files = [
      process.env.GIT_CONFIG_GLOBAL ?? join(homedir(), '.gitconfig'),
      join(config, 'git', 'config'),
      '/etc/gitconfig',
      ...(repo ? [join(repo.commonDir, 'config')] : []),
    ];
    return [inodeOf(join(this.root, '.git')), ...files.map(stampOf)].join(' ');
  }

  async head(repo: UserRepo): Promise<HeadFacts> {
    const head = await readHead(this.root, repo);
    if (this.lastHead === null || this.lastHead.head.commit !== head.commit)
      this.lastHead = { head, tree: head.commit ? await this.treeOf(head.commit) : null };
    return { head, tree: this.lastHead.tree };
  }
}

/** Changes when the file does; `-` where there is none, or none that we may see. */
export function stampOf(path: string): string {
  try {
    const stat = statSync(path, { bigint: true });
    return `${stat.mtimeNs}:${stat.size}:${stat.ino}`;
  } catch {
    return '-';
  }
}

function inodeOf(path: string): string {
  return stampOf(path).split(':').at(-1) ?? '-';
}
