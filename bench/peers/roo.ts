import type { EngineKind } from '../engine';
import { canRun, run } from '../exec';
import { shadowExcludes } from './excludes';
import { ShadowEngine } from './shadow';

/** Whether its search for nested repositories can be run here; without ripgrep it is left out, in its favour. */
export const hasRipgrep = (): Promise<boolean> => canRun('rg', ['--version']);

/** Roo Code (2026-04): a shadow repository per task, `add` and `commit`; restore is `clean -f -d -f` and `reset --hard`. */
export const roo: EngineKind = {
  name: 'roo',
  plainFolders: true,
  scans: true,
  slowFirst: true,
  open: (place) =>
    new ShadowEngine(place, {
      name: 'roo',
      init: ['--template='],
      commit: [],
      exclude: shadowExcludes,
      clean: true,
      prepare: async ({ tree }) => {
        // Exit 1 is "nothing found".
        if (await hasRipgrep())
          await run('rg', ['--files', '--hidden', '--follow', '-g', '**/.git/HEAD', tree], { allow: [1] });
      },
      aroundAdd: (_place, add) => add(),
    }),
};
