// Declarations of the package's API for Node programs: cli/api.d.ts and what it names, nothing else.
// `node build-types.mjs [FOLDER]` (default: dist/types).
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = path.dirname(fileURLToPath(import.meta.url));
const folder =
  process.argv[1]?.endsWith('build-types.mjs') && process.argv[2]
    ? path.resolve(process.argv[2])
    : path.join(root, 'dist/types');
const config = ts.getParsedCommandLineOfConfigFile(
  path.join(root, 'tsconfig.json'),
  {
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    rootDir: path.join(root, 'src'),
    outDir: folder,
  },
  { ...ts.sys, onUnRecoverableConfigFileDiagnostic: (problem) => fail([problem]) },
);

function fail(problems) {
  const host = { getCanonicalFileName: (name) => name, getCurrentDirectory: () => root, getNewLine: () => '\n' };
  process.stderr.write(ts.formatDiagnostics(problems, host));
  process.exit(1);
}

/** An extension may compile with neither Node's types nor a browser's: to both this adds nothing. */
const signalAnywhere = `declare global {
    interface AbortSignal {
        readonly aborted: boolean;
    }
}
`;
const entry = path.join(root, 'src/cli/api.ts');
const program = ts.createProgram([entry], config.options);
/** The entry reaches the whole engine at run time; a reader of its types needs only the files that the declarations import. */
const waiting = [entry];
const writing = [];
const seen = new Set(waiting);
for (const file of waiting) {
  const source = program.getSourceFile(file);
  const { emitSkipped, diagnostics } = program.emit(
    source,
    (name, text) => {
      const whole = text.includes('AbortSignal') ? text + signalAnywhere : text;
      writing.push(mkdir(path.dirname(name), { recursive: true }).then(() => writeFile(name, whole)));
      for (const { fileName } of ts.preProcessFile(text).importedFiles) {
        const found = ts.resolveModuleName(fileName, file, config.options, ts.sys).resolvedModule?.resolvedFileName;
        if (!found || found.includes('node_modules') || seen.has(found)) continue;
        seen.add(found);
        waiting.push(found);
      }
    },
    undefined,
    true,
  );
  if (emitSkipped || diagnostics.length) fail(diagnostics);
}
await Promise.all(writing);
