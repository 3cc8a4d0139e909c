import { agreedTo, type Agreed } from '../core/agreed';
import { CheckpointsError } from '../core/errors';
import type { RestorePlan, RestoreResult } from '../core/model';
import type { Invocation } from './command';
import { planView } from './views/restore';

interface Steps {
  plan: () => Promise<RestorePlan>;
  /** Throws where the answer is no. */
  ask: (plan: RestorePlan) => Promise<void>;
  restore: (agreed: Agreed, plan: RestorePlan) => Promise<RestoreResult>;
}

/** At a terminal a plan may stand there for minutes. What changes meanwhile is neither overwritten nor deleted unasked: the plan is shown anew. */
export async function restoreAsShown(invocation: Invocation, { plan, ask, restore }: Steps): Promise<RestoreResult> {
  for (;;) {
    const shown = await plan();
    invocation.output.note(planView(shown, invocation.output).trimEnd());
    await ask(shown);
    try {
      return await restore(agreedTo(shown), shown);
    } catch (error) {
      if (!CheckpointsError.is(error, 'needs-confirmation')) throw error;
      invocation.output.note(`${error.message} This is what would be restored now:`);
    }
  }
}
