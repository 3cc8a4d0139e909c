import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { once } from 'node:events';
import { Corpus } from './corpus';
import { git, gitText, sleep } from './exec';
import { ignoredFiles, plannedFiles } from './layout';
import { seeded } from './random';
import type { Entry } from './worktree';

/** The generated repository, bare and packed, from which every engine gets its own clone. */
export interface Template {
  gitDir: string;
  head: string;
  files: number;
  bytes: number;
  /** What a fresh work tree holds, ignored files included. */
  entries: ReadonlyMap<string, Entry>;
  /** Text files with ordinary names. */
  editable: readonly string[];
  seed: number;
}

/** History before the head: each of these commits changed one file in this many. */
const history = [200, 400, 300];

/** Fixed, so that the same seed gives the same commit ids. */
const author = 'Bench <bench@example.invalid>';
const epoch = 1_700_000_000;

export async function makeTemplate(gitDir: string, files: number, seed: number): Promise<Template> {
  await git(['init', '-q', '--bare', '--template=', '-b', 'main', gitDir]);
  const importer = spawn('git', ['--git-dir', gitDir, 'fast-import', '--quiet', '--force'], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  const ended = once(importer, 'close') as Promise<[number | null]>;
  const send = async (data: string | Buffer): Promise<void> => {
    if (!importer.stdin.write(data)) await once(importer.stdin, 'drain');
  };
  const corpus = new Corpus(seed);
  const random = seeded(seed + 1);
  const entries = new Map<string, Entry>();
  const editable: string[] = [];
  const later: Array<Array<{ path: string; mode: string; content: Buffer }>> = history.map(() => []);
  let bytes = 0;
  await send(commitHead(0));
  for (const planned of plannedFiles(seed, files, corpus)) {
    const mode = planned.kind === 'link' ? '120000' : planned.executable ? '100755' : '100644';
    let content = planned.content;
    await send(change(planned.path, mode, content));
    for (const [at, oneIn] of history.entries()) {
      if (!planned.editable || random.below(oneIn) !== 0) continue;
      content = Buffer.concat([content, Buffer.from(`// changed in commit ${at + 1}\n`)]);
      later[at]?.push({ path: planned.path, mode, content });
    }
    bytes += content.length;
    if (planned.editable) editable.push(planned.path);
    entries.set(planned.path, { kind: planned.kind, executable: planned.executable, hash: contentHash(content) });
  }
  for (const [at, changes] of later.entries()) {
    await send(commitHead(at + 1));
    for (const item of changes) await send(change(item.path, item.mode, item.content));
  }
  importer.stdin.end();
  const [code] = await ended;
  if (code !== 0) throw new Error(`git fast-import: exit ${String(code)}`);
  for (const planned of ignoredFiles(seed, Math.round(files / 12), corpus))
    entries.set(planned.path, { kind: 'file', executable: false, hash: contentHash(planned.content) });
  const head = await gitText(['--git-dir', gitDir, 'rev-parse', 'main']);
  return { gitDir, head, files, bytes, entries, editable, seed };
}

function commitHead(number: number): string {
  const when = `${author} ${epoch + number * 3600} +0000`;
  const message = `Commit ${number}`;
  return `commit refs/heads/main\nauthor ${when}\ncommitter ${when}\ndata ${message.length}\n${message}\n`;
}

function change(path: string, mode: string, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`M ${mode} inline ${path}\ndata ${content.length}\n`), content, Buffer.from('\n')]);
}

export const contentHash = (content: Uint8Array): string => createHash('sha1').update(content).digest('hex');

/** A clone with a work tree as a user has it: packed objects of its own, a fresh index, installed packages. */
export async function cloneTemplate(template: Template, tree: string): Promise<void> {
  await git(['clone', '-q', '--no-hardlinks', template.gitDir, tree]);
  await writeIgnored(template, tree);
  // Entries as young as the index itself would be hashed again by everyone's first look at them.
  await sleep(1100);
  await git(['update-index', '-q', '--refresh'], { cwd: tree });
}

/** The same files in a folder that is no repository. */
export async function plainCopy(template: Template, tree: string): Promise<void> {
  await git(['clone', '-q', '--no-hardlinks', template.gitDir, tree]);
  await rm(join(tree, '.git'), { recursive: true, force: true });
  await writeIgnored(template, tree);
}

async function writeIgnored(template: Template, tree: string): Promise<void> {
  for (const planned of ignoredFiles(template.seed, Math.round(template.files / 12), new Corpus(template.seed))) {
    const path = join(tree, planned.path);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, planned.content);
  }
}
