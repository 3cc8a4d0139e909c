import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from '../../../src/cli/parse';
import { columnNames } from '../../../src/index/schema';
import manifest from '../../../package.json';
import { extensionPage } from '../../run/extension-page.mjs';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const documents = ['README.md', 'CONTRIBUTING.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)];

/** As GitHub makes them of headings. */
const anchors = (text: string): Set<string> =>
  new Set(
    [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );

const links = (text: string): string[] => [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);

const brokenLinks = (file: string, text: string): string[] =>
  links(text).filter((link) => {
    if (/^https?:/.test(link)) return false;
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? file : join(dirname(file), path);
    if (!existsSync(join(root, target))) return true;
    return anchor !== undefined && !anchors(read(target)).has(anchor);
  });

/** `src/core/plan.ts`, and `core/plan.ts` as the architecture says it. Patterns with a star are not looked for. */
const missingFiles = (text: string): string[] =>
  [...text.matchAll(/`((?:src\/|test\/|webview\/|[a-z]+\/)[\w/-]+\.(?:ts|mjs))`/g)]
    .map(([, path = '']) => path)
    .filter((path) => !existsSync(join(root, path)) && !existsSync(join(root, 'src', path)));

describe.each(documents)('%s', (file) => {
  const text = read(file);

  it('has no link and no anchor that leads nowhere', () => expect(brokenLinks(file, text)).toEqual([]));

  it('names no file that is not there', () => expect(missingFiles(text)).toEqual([]));

  it('has commands that can be copied with what is said about them', () => {
    const lines = text
      .split('\n')
      .filter((line) => /^ {4}(npm|npx|node|opencode|git|code|sqlite3|const|await)\b/.test(line));
    expect(lines.filter((line) => /\S {2,}(?!#|\/\/)\S/.test(line))).toEqual([]);
  });

  it('names only commands that the command line has', () => {
    const commands = [...text.matchAll(/(?:^ {4}|`|\$ )opencode-checkpoints ([a-z][a-z-]*)/gm)];
    for (const [, command = ''] of commands) expect(parse([command, '--help']).kind, command).toBe('answer');
  });
});

describe('what the documents say', () => {
  it('would not pass over a link, an anchor or a file that is missing', () => {
    expect(
      brokenLinks('README.md', '[a](docs/nothing.md) [b](#nowhere) [c](docs/formats.md#nowhere) [d](LICENSE)'),
    ).toEqual(['docs/nothing.md', '#nowhere', 'docs/formats.md#nowhere']);
    expect(missingFiles('`src/core/nothing.ts` `core/plan.ts` `git/nothing.ts`')).toEqual([
      'src/core/nothing.ts',
      'git/nothing.ts',
    ]);
  });

  it('has no link to a file on the page of the extension, where none can be followed', () => {
    expect(
      extensionPage(
        '![a](media/a.png)\n\n[The map](docs/a.md#b), [LICENSE](LICENSE), [here](#here), [there](https://x.org)',
      ),
    ).toBe('The map (`docs/a.md`), `LICENSE`, [here](#here), [there](https://x.org)');
    const page = extensionPage(read('README.md'));
    expect(links(page).filter((link) => !/^(#|https:)/.test(link))).toEqual([]);
    expect(brokenLinks('README.md', page)).toEqual([]);
    expect(links(page).length).toBeGreaterThan(0);
  });

  it('has every setting in the read me', () => {
    const settings = Object.keys(manifest.contributes.configuration.properties);
    const told = read('README.md');
    const silent = settings.filter((key) => !told.includes(`\`${key.replace('opencodeCheckpoints.', '')}\``));
    expect(settings.length).toBeGreaterThan(10);
    expect(silent).toEqual([]);
  });

  it('has every column of the index among the formats', () => {
    const formats = read('docs/formats.md');
    expect(columnNames.filter((name) => !new RegExp(`[\`, ]${name}[\`,]`).test(formats))).toEqual([]);
  });

  it('quotes only symptoms that people are shown', () => {
    const symptoms = [...read('docs/troubleshooting.md').matchAll(/^\| (.*?) \|/gm)].map(([, cell = '']) => cell);
    const quoted = symptoms.flatMap((cell) => [...cell.matchAll(/"([^"]+)"/g)].map(([, text = '']) => text));
    const said = ['src/core', 'src/git', 'src/host', 'src/cli', 'src/backup', 'src/opencode']
      .flatMap((folder) => readdirSync(join(root, folder)).map((name) => join(folder, name)))
      .filter((file) => file.endsWith('.ts'))
      .map((file) => read(file).replaceAll('${section}.${settings.storeLocation}', 'opencodeCheckpoints.storeLocation'))
      .join('\n')
      .toLowerCase();
    // What differs from case to case is left out: names, numbers.
    const parts = quoted.flatMap((text) => text.split(/…|\b[NM]\b/).map((part) => part.trim().toLowerCase()));
    expect(quoted.length).toBeGreaterThan(15);
    expect(parts.filter((part) => !said.includes(part))).toEqual([]);
  });

  it('sends people only to buttons and commands that exist', () => {
    const [, story = ''] = /^## Five minutes\n(.*?)^## Install\n/ms.exec(read('README.md')) ?? [];
    const [, table = ''] = /^## Use\n(.*?)^On the command line/ms.exec(read('README.md')) ?? [];
    const bold = [...(story + table).matchAll(/\*\*([^*]+)\*\*/g)].map(([, text = '']) =>
      text.replace('Checkpoints: ', ''),
    );
    const named = bold.filter((text) => !text.endsWith('.') && !text.includes('+'));
    const sources = ['src/host', 'webview/timeline/view'].flatMap((folder) =>
      readdirSync(join(root, folder)).map((name) => read(join(folder, name))),
    );
    const known = [read('package.nls.json'), ...sources].join('\n');
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((text) => !known.includes(text))).toEqual([]);
  });
});
