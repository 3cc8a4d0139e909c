import tseslint from 'typescript-eslint';

/**
 * The layers of docs/architecture.md as lint errors. Each folder names what it must not import;
 * `import type` may pass everywhere (types vanish at build time), but for `vscode`.
 */
const folders = ['core', 'git', 'index', 'opencode', 'backup', 'imports', 'sync', 'protocol', 'host', 'plugin', 'cli'];

const allowed = {
  core: [],
  git: ['core'],
  index: ['core'],
  opencode: ['core'],
  backup: ['core'],
  imports: ['core', 'index', 'backup'],
  sync: ['core', 'git'],
  protocol: [],
  host: ['core', 'git', 'index', 'opencode', 'backup', 'imports', 'sync', 'protocol'],
  plugin: ['core', 'git', 'opencode', 'backup'],
  cli: ['core', 'git', 'index', 'opencode', 'backup', 'imports', 'sync'],
};

const noVscode = { name: 'vscode', message: 'Only src/host (and src/extension.ts) may import vscode.' };

const layer = (folder, may) => ({
  files: [`src/${folder}/**/*.ts`],
  rules: {
    '@typescript-eslint/no-restricted-imports': [
      'error',
      {
        ...(folder === 'host' ? {} : { paths: [noVscode] }),
        patterns: [
          {
            group: folders
              .filter((other) => other !== folder && !may.includes(other))
              .flatMap((other) => [`../${other}/**`, `../../${other}/**`, `**/src/${other}/**`]),
            message: `src/${folder} may import ${may.length ? may.map((m) => `src/${m}`).join(', ') : 'nothing of ours'} (docs/architecture.md).`,
            allowTypeImports: true,
          },
          { group: ['**/webview/**'], message: 'The page imports the protocol, never the other way round.' },
          ...(folder === 'core'
            ? [
                {
                  group: ['simple-git', 'sql.js', '@opencode-ai/*', 'node:child_process'],
                  message: 'The core is plain domain code.',
                },
              ]
            : []),
          ...(folder === 'plugin'
            ? [{ group: ['sql.js', '**/index/**'], message: 'The plugin reads and writes refs; it needs no index.' }]
            : []),
        ],
      },
    ],
  },
});

export default tseslint.config(
  { ignores: ['dist/**', 'node_modules/**', '.vscode-test/**', 'coverage/**'] },
  ...tseslint.configs.recommended,
  {
    rules: {
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      'no-empty': ['error', { allowEmptyCatch: false }],
      eqeqeq: ['error', 'always'],
    },
  },
  // Preloaded with `node --require`, so it has to be CommonJS.
  { files: ['**/*.cjs'], rules: { '@typescript-eslint/no-require-imports': 'off' } },
  { files: ['src/**/*.ts'], rules: { 'no-console': 'error' } },
  { files: ['src/cli/**/*.ts'], rules: { 'no-console': 'off' } },
  ...Object.entries(allowed).map(([folder, may]) => layer(folder, may)),
  {
    files: ['webview/**/*.ts'],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          paths: [noVscode],
          patterns: [
            {
              group: folders.filter((f) => f !== 'protocol').map((f) => `**/src/${f}/**`),
              message: 'The page speaks through src/protocol only.',
              allowTypeImports: true,
            },
          ],
        },
      ],
    },
  },
);
