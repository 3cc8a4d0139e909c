import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, rmSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { storeConfig, type Layout } from '../git/layout';
import { PackWriter, type HashName } from '../git/pack-writer';
import { runGit, safeFlags, storeEnv } from '../git/run';
import { sweepDead } from '../git/scanner';

/**
 * A repository of its own for one exchange with the outside. It sees everything the store has, and nothing it is given gets
 * into the store by itself: so a transfer of minutes holds no lease, and one that dies leaves a folder to be swept.
 */
export class Scratch {
  private constructor(
    readonly gitDir: string,
    readonly objects: string,
    readonly format: HashName,
    /** It sees nothing of the store. */
    readonly alone: boolean,
    /** The first folder that had to be made for it. */
    private readonly first: string,
  ) {}

  static create(layout: Layout, format: HashName, unseeing = false): Scratch {
    const alone = unseeing || !existsSync(layout.objects);
    const parent = join(layout.folder, 'sync');
    sweepDead(parent);
    const gitDir = join(parent, `${process.pid}-${randomBytes(6).toString('hex')}`);
    const objects = join(gitDir, 'objects');
    // Nobody else reads what arrives, in a home that is made for it either.
    const first = mkdirSync(layout.home, { recursive: true, mode: 0o700 }) ?? mkdirSync(gitDir, { recursive: true });
    mkdirSync(join(objects, 'pack'), { recursive: true });
    mkdirSync(join(objects, 'info'), { recursive: true });
    mkdirSync(join(gitDir, 'refs'), { recursive: true });
    writeFileSync(join(gitDir, 'HEAD'), 'ref: refs/heads/none\n');
    writeFileSync(join(gitDir, 'config'), storeConfig(format, true));
    // Absolute and both: git does not follow the relative ones of an alternate's own alternates.
    if (!alone) writeFileSync(join(objects, 'info', 'alternates'), `${layout.objects}\n${layout.borrowed}\n`);
    return new Scratch(gitDir, objects, format, alone, first ?? gitDir);
  }

  newWriter(): PackWriter {
    return new PackWriter(this.objects, this.format);
  }

  /** All refs at once, in git's packed form. */
  setRefs(refs: ReadonlyMap<string, string>): void {
    const lines = [...refs].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, oid]) => `${oid} ${name}\n`);
    writeFileSync(join(this.gitDir, 'packed-refs'), `# pack-refs with: sorted \n${lines.join('')}`);
  }

  /** `<oid> <ref>` lines. */
  async refLines(prefix: string): Promise<string> {
    const args = ['for-each-ref', '--format=%(objectname) %(refname)', prefix];
    return (await this.git(args)).toString('utf8');
  }

  /** Which of these are commits that this repository, and so the store, has. In their order. */
  async commitsHere(oids: readonly string[]): Promise<string[]> {
    if (oids.length === 0) return [];
    const out = (await this.git(['cat-file', '--batch-check'], oids.map((oid) => `${oid}\n`).join(''))).toString(
      'latin1',
    );
    const here = new Set([...out.matchAll(/^([0-9a-f]+) commit \d+$/gm)].map(([, oid]) => oid));
    return oids.filter((oid) => here.has(oid));
  }

  private async git(args: string[], input = ''): Promise<Buffer> {
    const options = { cwd: this.gitDir, env: storeEnv(), input };
    return (await runGit([...safeFlags, `--git-dir=${this.gitDir}`, ...args], options)).stdout;
  }

  /** Packs that arrived or were made here. */
  packs(): string[] {
    const folder = join(this.objects, 'pack');
    const names = new Set(readdirSync(folder));
    return [...names]
      .filter((name) => name.endsWith('.pack') && names.has(`${name.slice(0, -5)}.idx`))
      .map((name) => join(folder, name.slice(0, -5)));
  }

  /** Bytes on disk, of what is still arriving as well. */
  bytes(): number {
    let sum = 0;
    for (const name of readdirSync(join(this.objects, 'pack')))
      try {
        sum += statSync(join(this.objects, 'pack', name)).size;
      } catch {
        continue; // git has just renamed it
      }
    return sum;
  }

  /** Where nothing came of it, the folders that were made for it go, too. */
  dispose(): void {
    rmSync(this.gitDir, { recursive: true, force: true });
    for (let folder = this.gitDir; folder.length > this.first.length && folder.startsWith(this.first);) {
      folder = dirname(folder);
      try {
        rmdirSync(folder);
      } catch {
        return; // Others use it, or have removed it: an empty folder that stays does no harm.
      }
    }
  }
}
