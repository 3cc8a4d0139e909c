import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import type { Origin } from '../core/model';
import { isId } from '../core/ulid';
import { originPattern } from '../git/fetched';
import { isSessionId } from '../git/untrusted-record';

/**
 * What a remote or a bundle holds: `refs/opencode-checkpoints/<origin>/checkpoints/<id>`, `.../sessions/<session>` and
 * `.../head`. Everybody writes below their own origin only.
 */
export const wireRefs = 'refs/opencode-checkpoints/';

export interface WireRef {
  ref: string;
  origin: string;
  kind: 'checkpoint' | 'session' | 'head';
  /** Of the checkpoint or the session; '' for the head. */
  id: string;
  oid: string;
}

export const checkpointRef = (origin: string, id: string): string => `${wireRefs}${origin}/checkpoints/${id}`;
export const sessionRef = (origin: string, session: string): string => `${wireRefs}${origin}/sessions/${session}`;
export const headRef = (origin: string): string => `${wireRefs}${origin}/head`;

/** null for a name that we would not have made. */
export function parseWireRef(ref: string, oid: string): WireRef | null {
  if (!ref.startsWith(wireRefs) || !/^[0-9a-f]{40,64}$/.test(oid)) return null;
  const [origin = '', kind, id = '', ...more] = ref.slice(wireRefs.length).split('/');
  if (more.length > 0 || !originPattern.test(origin)) return null;
  if (kind === 'head' && id === '') return { ref, origin, kind: 'head', id, oid };
  if (kind === 'checkpoints' && isId(id)) return { ref, origin, kind: 'checkpoint', id, oid };
  if (kind === 'sessions' && isSessionId(id)) return { ref, origin, kind: 'session', id, oid };
  return null;
}

/** `<oid> <tab or space> <ref>` lines, as ls-remote, for-each-ref and bundles print them. */
export function parseRefLines(text: string): { refs: WireRef[]; strange: string[] } {
  const refs: WireRef[] = [];
  const strange: string[] = [];
  for (const line of text.split('\n')) {
    const match = /^([0-9a-f]{40,64})[ \t](.+)$/.exec(line);
    if (!match?.[2]?.startsWith(wireRefs)) continue;
    const ref = parseWireRef(match[2], match[1] ?? '');
    if (ref) refs.push(ref);
    else strange.push(match[2].slice(wireRefs.length));
  }
  return { refs, strange };
}

export function thisOrigin(): Origin {
  return { machine: hostname().slice(0, 100) || 'unknown', user: userName() };
}

function userName(): string {
  try {
    return userInfo().username.slice(0, 100) || 'unknown';
  } catch {
    return process.env['USER'] || 'unknown'; // a user id without an account, as in some containers
  }
}

/** Readable by people, a part of a ref by form, and this store's own by the key. */
export function originName({ user, machine }: Origin, key: string): string {
  const part = (text: string): string =>
    text
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, 30) || 'x';
  return `${part(user)}-${part(machine)}-${key}`;
}

/** The machine and the folder: a store that was copied to another place is another store. */
export function placeOf(root: string): string {
  let machine: string;
  try {
    machine = readFileSync('/etc/machine-id', 'utf8').trim() || hostname();
  } catch {
    machine = hostname(); // not a Linux with systemd
  }
  return createHash('sha256').update(`${machine}\0${root}`).digest('hex').slice(0, 16);
}
