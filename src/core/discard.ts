import { CheckpointsError } from './errors';
import { asSentence } from './text';

/**
 * Takes away a session that was made and is not to stay, and throws why. Where that fails as well (the server may be gone) the error
 * names it: nobody would know otherwise where it came from.
 */
export async function discard(
  remove: (session: string) => Promise<void>,
  session: string,
  why: unknown,
): Promise<never> {
  try {
    await remove(session);
  } catch (error) {
    const text = why instanceof Error ? why.message : String(why);
    const { reason = 'server-failed', details } = CheckpointsError.is(why) ? why : {};
    throw new CheckpointsError(
      reason,
      `${asSentence(text)} The copy that had been begun, session ${session}, could not be deleted: it is still in OpenCode.`,
      { cause: error, details: { ...details, left: session } },
    );
  }
  throw why;
}
