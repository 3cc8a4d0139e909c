import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { prompts } from './story';

const run = promisify(execFile);

type Files = Record<string, string>;

/** With OpenCode's plugin the turns make their own checkpoints; without it the first one is made by hand. */
const readme = (automatic: boolean): string => `# greeter

A small greeter, made to be changed by an agent.

## Play

${automatic ? '1. Open **Checkpoints** in the activity bar. It fills by itself while the agent works.' : '1. Run **Checkpoints: Create Checkpoint** (F1). It appears under **Checkpoints** in the activity bar.'}
2. Run the task **Ask the agent: ${prompts.refactor}** (Terminal > Run Task…). The agent takes a turn and edits files.
3. ${automatic ? 'Move to the row of the turn' : 'Select the checkpoint'} and press **Compare with Working Files**: ${automatic ? 'how it was before the turn' : 'the checkpoint'} on the left, your files on the right.
4. Run **Ask the agent: ${prompts.ruin}**. It does more than anybody wanted.
5. ${automatic ? 'Press **Restore Checkpoint…** beside that turn: it goes back to before the prompt' : 'Restore the checkpoint from before'}, and says first what will happen. Then press **Undo** in the message.

In a terminal, \`ask "${prompts.refactor}"\` does the same as the task.
`;

const greeter = `export function greet(name: string, language: string): string {
  if (language === 'en') {
    return 'Hello, ' + name + '!';
  } else if (language === 'de') {
    return 'Hallo, ' + name + '!';
  } else if (language === 'fr') {
    return 'Bonjour, ' + name + ' !';
  } else {
    return 'Hello, ' + name + '!';
  }
}
`;

const cli = `import { greet } from './greeter.ts';
import { shout } from './format.ts';

const [name = 'world', language = 'en', loud] = process.argv.slice(2);
const text = greet(name, language);
console.log(loud === '--loud' ? shout(text) : text);
`;

const format = `/** For those who stand at the back. */
export function shout(text: string): string {
  return text.toUpperCase();
}
`;

const test = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { greet } from '../src/greeter.ts';

test('greets in English', () => {
  assert.equal(greet('Ada', 'en'), 'Hello, Ada!');
});
`;

const packageJson = {
  name: 'greeter',
  version: '1.2.0',
  private: true,
  type: 'module',
  scripts: { start: 'node src/cli.ts', test: 'node --test test/' },
};

const guide = `# Adding a language

1. Add a branch to \`greet\` in \`src/greeter.ts\`.
2. Add a test.
3. Ask somebody who speaks it.
`;

/** Commits of the demo's past, oldest first: something for the git facet and the blame view to show. */
const history = (automatic: boolean): Array<{ message: string; author: string; date: string; files: Files }> => [
  {
    message: 'Start with a greeting',
    author: 'Ada',
    date: '2026-03-02T09:12:00Z',
    files: {
      'README.md': readme(automatic),
      'package.json': `${JSON.stringify(packageJson, null, 2)}\n`,
      '.gitignore': 'node_modules/\n.opencode/\n',
      'src/greeter.ts': `export function greet(name: string): string {\n  return 'Hello, ' + name + '!';\n}\n`,
    },
  },
  {
    message: 'Speak German and French',
    author: 'Blaise',
    date: '2026-03-09T14:40:00Z',
    files: { 'src/greeter.ts': greeter, 'docs/languages.md': guide },
  },
  {
    message: 'Add the command line',
    author: 'Ada',
    date: '2026-04-21T08:05:00Z',
    files: { 'src/cli.ts': cli, 'src/format.ts': format },
  },
  {
    message: 'Test the English greeting',
    author: 'Grace',
    date: '2026-05-11T16:30:00Z',
    files: { 'test/greeter.test.ts': test },
  },
];

/** A task per prompt, so that the story can be played from the editor without a model. */
const tasks = (ask: string[]): string =>
  JSON.stringify(
    {
      version: '2.0.0',
      tasks: Object.values(prompts).map((prompt) => ({
        label: `Ask the agent: ${prompt}`,
        type: 'process',
        command: ask[0],
        args: [...ask.slice(1), prompt],
        problemMatcher: [],
        presentation: { reveal: 'always', panel: 'shared', echo: false },
      })),
    },
    null,
    2,
  );

/** Makes the demo's workspace: a git repository with a past. `ask` is the command that sends a prompt. */
export async function makeDemoProject(folder: string, ask: string[], automatic: boolean): Promise<void> {
  await mkdir(folder, { recursive: true });
  const git = async (args: string[], env: NodeJS.ProcessEnv = {}): Promise<void> => {
    await run('git', ['-c', 'commit.gpgsign=false', '-c', 'core.hooksPath=/dev/null', ...args], {
      cwd: folder,
      env: { ...process.env, ...env },
    });
  };
  await git(['init', '-q', '-b', 'main']);
  for (const { message, author, date, files } of history(automatic)) {
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), content);
    }
    if (files['README.md']) {
      await mkdir(join(folder, '.vscode'));
      await writeFile(join(folder, '.vscode', 'tasks.json'), `${tasks(ask)}\n`);
    }
    const email = `${author.toLowerCase()}@example.invalid`;
    await git(['add', '-A']);
    await git(['commit', '-qm', message], {
      GIT_AUTHOR_NAME: author,
      GIT_AUTHOR_EMAIL: email,
      GIT_AUTHOR_DATE: date,
      GIT_COMMITTER_NAME: author,
      GIT_COMMITTER_EMAIL: email,
      GIT_COMMITTER_DATE: date,
    });
  }
}
