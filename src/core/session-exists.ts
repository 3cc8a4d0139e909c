import { CheckpointsError } from './errors';
import type { SessionGateway } from './sessions';

/** A list may leave it out; asked for by name, the server must say that it is gone. */
export async function sessionExists(gateway: Pick<SessionGateway, 'get'>, session: string): Promise<boolean> {
  try {
    await gateway.get(session);
    return true;
  } catch (error) {
    if (CheckpointsError.is(error, 'session-missing')) return false;
    throw error;
  }
}
