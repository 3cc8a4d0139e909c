import type { SessionEvent, SessionGateway } from '../../src/core/sessions';
import { gatewayFor } from '../../src/opencode/connect';
import { endpoint } from '../../src/opencode/http';
import { probe, requireOpenCode } from '../../src/opencode/probe';
import { until, type Generation, type OpenCode } from '../rig/opencode';

export const generations: Generation[] = ['v1', 'v2'];

/** A gateway to a rig's server, found out about by probing, as a host would. */
export async function gatewayTo(server: OpenCode): Promise<SessionGateway> {
  const target = endpoint(server.url, server.password);
  const found = requireOpenCode(await probe(target), target.url);
  return gatewayFor({ endpoint: target, ...found }, { opencodePath: server.binary, env: server.env });
}

/** User and assistant messages, counted without the code under test. */
export async function countIn(server: OpenCode, session: string): Promise<number> {
  const messages = await server.messages(session);
  return messages.filter(({ type }) => type === 'user' || type === 'assistant').length;
}

/** OpenCode 1 says that it is connected before it really listens: so it is poked until an event comes. */
export async function untilLive(server: OpenCode, events: readonly SessionEvent[]): Promise<void> {
  await until(
    async () => {
      if (!events.some(({ type }) => type === 'connected')) return false;
      await server.createSession('Poke');
      return events.some(({ type }) => type === 'session');
    },
    60_000,
    () => `no events: ${JSON.stringify(events)}`,
  );
}
