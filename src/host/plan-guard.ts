import type { FileChooser } from './restore-flow';
import type { Workspaces } from './workspaces';

/** A plan is given up with the folder that it is for: nothing could be restored there any more. */
export const whileOpen = (workspaces: Pick<Workspaces, 'onDidClose'>, chooser: FileChooser): FileChooser => ({
  choose: async (target, plan, scope) => {
    const closing = workspaces.onDidClose((root) => {
      if (root === target.root) void chooser.cancel();
    });
    try {
      return await chooser.choose(target, plan, scope);
    } finally {
      closing.dispose();
    }
  },
  cancel: () => chooser.cancel(),
});
