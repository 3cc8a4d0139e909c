import type { SessionExport } from '../core/sessions';
import type { SessionState } from './api';
import { factsOf, messageIds } from './document';

/** How what the backup has stands to what the server has. */
export function compareDocuments(backup: SessionExport, server: SessionExport): Exclude<SessionState, 'new'> {
  const [saved, live] = [messageIds(backup), messageIds(server)];
  const common = Math.min(saved.length, live.length);
  for (let at = 0; at < common; at++) if (saved[at] !== live[at]) return 'different';
  if (saved.length < live.length) return 'older';
  if (saved.length > live.length) return 'newer';
  if (JSON.stringify(backup.messages) === JSON.stringify(server.messages)) return 'same';
  return factsOf(backup).updatedAt > factsOf(server).updatedAt ? 'newer' : 'older';
}

/** What a cut-off import leaves: some of the document's messages, and nothing else. */
export function isPartOf(server: SessionExport, backup: SessionExport): boolean {
  const saved = new Set(messageIds(backup));
  const live = messageIds(server);
  return live.every((id) => saved.has(id)) && JSON.stringify(server.messages) !== JSON.stringify(backup.messages);
}

interface Kin {
  id: string;
  parentId: string | null;
}

/** The chosen ones and all that they started, each after the one that started it. */
export function withDescendants<T extends Kin>(all: ReadonlyMap<string, T>, chosen: readonly string[]): T[] {
  const children = new Map<string, T[]>();
  for (const one of all.values())
    if (one.parentId !== null) children.set(one.parentId, [...(children.get(one.parentId) ?? []), one]);
  const wanted = new Set<string>();
  const want = (id: string): void => {
    if (wanted.has(id)) return;
    wanted.add(id);
    for (const child of children.get(id) ?? []) want(child.id);
  };
  chosen.forEach(want);
  const ordered = new Map<string, T>();
  const put = (id: string, above: ReadonlySet<string>): void => {
    const one = all.get(id);
    if (!one || ordered.has(id) || above.has(id)) return;
    if (one.parentId !== null && wanted.has(one.parentId)) put(one.parentId, new Set([...above, id]));
    ordered.set(id, one);
  };
  for (const id of wanted) put(id, new Set());
  return [...ordered.values()];
}
