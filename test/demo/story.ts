import { shell, write, type Script } from '../rig/script';
import type { ScriptedModel } from '../rig/scripted-model';

/** What the scripted model understands in the demo's workspace. */
export const prompts = {
  refactor: 'refactor the greeter',
  test: 'add tests for every language',
  ruin: 'clean up the project',
} as const;

/** The only thing it does in a folder of the user's own: one new file, nothing else. */
export const notePrompt = 'write a note';

const languages = `/** One entry per language; \`{name}\` stands for the person. */
export const greetings: Record<string, string> = {
  en: 'Hello, {name}!',
  de: 'Hallo, {name}!',
  fr: 'Bonjour, {name} !',
  es: '¡Hola, {name}!',
};

export const fallback = 'en';
`;

const greeter = `import { fallback, greetings } from './languages.ts';

export function greet(name: string, language: string): string {
  const greeting = greetings[language] ?? greetings[fallback] ?? '{name}';
  return greeting.replace('{name}', name);
}
`;

const guide = `# Adding a language

1. Add an entry to \`greetings\` in \`src/languages.ts\`.
2. Add a test.
3. Ask somebody who speaks it.
`;

const tests = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { greet } from '../src/greeter.ts';

const expected: Array<[language: string, text: string]> = [
  ['en', 'Hello, Ada!'],
  ['de', 'Hallo, Ada!'],
  ['fr', 'Bonjour, Ada !'],
  ['xx', 'Hello, Ada!'],
];

for (const [language, text] of expected)
  test(\`greets in \${language}\`, () => {
    assert.equal(greet('Ada', language), text);
  });
`;

/** Files are written whole, so that a prompt can be played again after a restore, and twice in a row. */
const scripts: Record<keyof typeof prompts, Script> = {
  refactor: [
    {
      text: 'The languages are data, so they belong in a table. First the table.',
      tools: [write('src/languages.ts', languages)],
    },
    { text: 'Now the greeter only looks things up.', tools: [write('src/greeter.ts', greeter)] },
    { text: 'The guide still speaks of branches.', tools: [write('docs/languages.md', guide)] },
    { text: 'Done: the greetings live in src/languages.ts, and Spanish is new.' },
  ],
  test: [
    { text: 'One row per language.', tools: [write('test/greeter.test.ts', tests)] },
    { text: 'Done: four greetings are tested, the fallback among them.' },
  ],
  ruin: [
    { text: 'Some of this looks unused. Removing it.', tools: [shell('rm -rf docs test src/format.ts')] },
    { text: 'The read me is long. Shortening it.', tools: [write('README.md', '# greeter\n')] },
    { text: 'Done: the project is much smaller now.' },
  ],
};

export function tellStory(model: ScriptedModel, workspace: 'demo' | 'own'): void {
  if (workspace === 'demo')
    for (const [key, prompt] of Object.entries(prompts)) model.on(prompt, scripts[key as keyof typeof prompts]);
  else model.on(notePrompt, [{ tools: [write('scripted-note.md', '# A note\n\nWritten by the scripted model.\n')] }]);
  const known = workspace === 'demo' ? Object.values(prompts) : [notePrompt];
  model.otherwise(() => [
    { text: `I am a scripted model and know these prompts only: ${known.map((prompt) => `"${prompt}"`).join(', ')}.` },
  ]);
}
