import { CheckpointsError } from '../core/errors';
import type { Checkpoint } from '../core/model';
import { clearOriginals } from '../core/originals';
import { oneLine } from '../core/text';
import { turnKey } from '../core/turns';
import { flag, optionalText, refused, requiredText } from './arguments';
import { resolveHere } from './line';
import { input, text, type CallContext, type Toolbox, type ToolSpec } from './tool-spec';
import { reference } from './tools-points';

/** One checkpoint of the session, or, when the user allows it, all that were made by themselves. */
export function deleteTool(box: Toolbox): ToolSpec {
  return {
    name: 'checkpoint_delete',
    core: false,
    description:
      'Delete a checkpoint of this session; with "all" every automatic one of earlier turns, which the user is asked about.',
    // `id` is what an older plugin called it.
    input: input({ checkpoint: text('id or name'), id: text(), all: { type: 'boolean' } }),
    run: async (args, call) => {
      const named = reference(args);
      if (!flag(args, 'all')) return deleteOne(box, call, requiredText(named, 'checkpoint', 'cp_01h2xcejqtf2'));
      if (optionalText(named, 'checkpoint') !== undefined) throw refused('Name a checkpoint or say "all", not both.');
      return clearSession(box, call);
    },
  };
}

async function deleteOne(box: Toolbox, call: CallContext, named: string): Promise<string> {
  const { workspace } = await box.companion.open();
  const found = await resolveHere(box, call.session, named);
  const own = await box.sessions.rootOf(call.session);
  if (found.session?.id !== own)
    throw refused(
      `Checkpoint ${found.id} belongs to ${found.session ? `session ${found.session.id}` : 'the user'}, not to this session: only the user can delete it (in VS Code, or by opencode-checkpoints delete ${found.id}).`,
    );
  if (found.pinned || found.trigger === 'restore')
    throw refused(
      `Checkpoint ${found.id} is ${found.pinned ? 'pinned by the user' : "the way back from a restore, which is the user's"}: only the user can delete it (in VS Code, or by opencode-checkpoints delete ${found.id}).`,
    );
  await workspace.remove([found.id]);
  return `Checkpoint ${found.id} deleted`;
}

/** What somebody named, described or pinned was meant to stay, a restore's way back is the user's, and the turn that asks is not over. */
function sortOut(all: readonly Checkpoint[], running: string | null): { going: Checkpoint[]; kept: Checkpoint[] } {
  const going: Checkpoint[] = [];
  const kept: Checkpoint[] = [];
  for (const one of all.filter(({ origin }) => origin === null)) {
    const isKept = one.pinned || one.name !== null || one.description !== null || one.trigger === 'restore';
    if (isKept) kept.push(one);
    else if (running === null || turnKey(one) !== running) going.push(one);
  }
  return { going, kept };
}

async function clearSession(box: Toolbox, call: CallContext): Promise<string> {
  const { workspace } = await box.companion.open();
  const own = await box.sessions.rootOf(call.session);
  const moment = await box.sessions.throughStep(call.session, call.messageId);
  const look = async (): Promise<ReturnType<typeof sortOut>> =>
    sortOut(await workspace.list({ session: own }), turnKey(moment));
  const { going } = await look();
  if (going.length === 0) return 'There is no automatic checkpoint of earlier turns in this session.';
  const summary = `Delete ${going.length} automatic checkpoints of this session for good: it cannot be taken back to before this prompt any more`;
  const permission = await call.ask({ permission: 'checkpoint_delete', resource: '*', summary });
  if (permission === 'unavailable')
    return [
      'Nothing was deleted: the user cannot be asked from here.',
      'Ask the user to run Clear Session… in VS Code, or this in a terminal, in the project folder (both delete the named ones of this session, too):',
      `  opencode-checkpoints clear --session ${own}`,
    ].join('\n');
  if (permission === 'rejected')
    throw new CheckpointsError('cancelled', 'The user did not allow this. Nothing was deleted.');
  // A person may have named or pinned one while the question stood.
  const asked = new Set(going.map(({ id }) => id));
  const now = await look();
  const deleted = await workspace.remove(now.going.map(({ id }) => id).filter((id) => asked.has(id)));
  // First versions of files are counted from here on, whatever the checkpoints that stay know of earlier ones.
  await clearOriginals(workspace, { session: own, originals: [] });
  return clearedText(deleted.length, now.kept);
}

const keptShown = 20;

function clearedText(deleted: number, kept: readonly Checkpoint[]): string {
  const lines = ['All checkpoints cleared for this session.', `  Deleted: ${deleted}`];
  if (kept.length > 0)
    lines.push(`  Kept, because they are named, described, pinned or the way back from a restore: ${kept.length}`);
  for (const { id, title } of kept.slice(0, keptShown)) lines.push(`    ${id} ${oneLine(title)}`);
  if (kept.length > keptShown) lines.push(`    and ${kept.length - keptShown} more`);
  return lines.join('\n');
}
