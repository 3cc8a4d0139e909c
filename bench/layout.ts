import { noise, word, type Corpus } from './corpus';
import { seeded, type Random } from './random';

export interface PlannedFile {
  path: string;
  kind: 'file' | 'link';
  executable: boolean;
  /** Plain text with an ordinary name: what an agent edits. */
  editable: boolean;
  content: Buffer;
}

const extensions = [
  'ts',
  'ts',
  'ts',
  'tsx',
  'rs',
  'rs',
  'py',
  'go',
  'java',
  'md',
  'json',
  'css',
  'html',
  'toml',
  'txt',
];

/** Folders grow like a real tree: most below what was made lately, some near the root. */
function folders(random: Random, count: number): string[] {
  const made = ['packages', 'crates', 'docs', 'tests', 'tools', 'src'];
  const known = new Set(made);
  while (made.length < count) {
    const recent = random.next() < 0.6;
    const from = recent ? Math.max(0, made.length - 40) : 0;
    const parent = made[from + random.below(made.length - from)] ?? 'src';
    if (parent.split('/').length >= 11) continue;
    const name = random.next() < 0.2 ? `${word(random)}-${word(random)}` : word(random);
    const path = `${parent}/${name}`;
    if (known.has(path)) continue;
    known.add(path);
    made.push(path);
  }
  return made;
}

/** Log-normal sizes: half below 2.2 KB, a mean near 5 KB, a long tail to 1 MB, as source trees have. */
const fileSize = (random: Random): number =>
  Math.min(1_000_000, Math.max(24, Math.round(2200 * Math.exp(1.28 * random.normal()))));

/** All files of the repository, one at a time: they need not be in memory together. */
export function* plannedFiles(seed: number, count: number, corpus: Corpus): Generator<PlannedFile> {
  const random = seeded(seed);
  const places = folders(random, Math.max(12, Math.round(count / 9)));
  const taken = new Set<string>(['.gitignore']);
  yield file('.gitignore', Buffer.from('node_modules/\n*.log\n/dist/\n'), { editable: false });
  for (let made = 1; made < count;) {
    const roll = random.next();
    const folder = random.pick(places);
    let base = random.next() < 0.5 ? `${word(random)}-${word(random)}` : word(random);
    if (roll < 0.004) base = `${base} copy`;
    else if (roll < 0.008) base = `${base}-été`;
    const extension = roll > 0.985 ? 'png' : roll > 0.98 ? 'sh' : random.pick(extensions);
    const path = `${folder}/${base}.${extension}`;
    if (taken.has(path)) continue;
    taken.add(path);
    made += 1;
    if (roll > 0.978 && roll <= 0.98) {
      yield { path, kind: 'link', executable: false, editable: false, content: Buffer.from(`./${word(random)}.md`) };
      continue;
    }
    const size = fileSize(random);
    const content = extension === 'png' ? noise(random, size * 2) : corpus.source(random, path, size);
    yield file(path, content, { executable: extension === 'sh', editable: extension !== 'png' && roll >= 0.008 });
  }
}

/** Installed packages: there on disk, ignored by git, and never to be touched. */
export function* ignoredFiles(seed: number, count: number, corpus: Corpus): Generator<PlannedFile> {
  const random = seeded(seed ^ 0x5eed);
  for (let made = 0; made < count; made += 1) {
    const path = `node_modules/${word(random)}-${made % 97}/lib/${word(random)}-${made}.js`;
    yield file(path, corpus.source(random, path, 200 + random.below(3000)), { editable: false });
  }
}

function file(path: string, content: Buffer, more: { executable?: boolean; editable: boolean }): PlannedFile {
  return { path, kind: 'file', executable: more.executable ?? false, editable: more.editable, content };
}
