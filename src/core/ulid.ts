import { createHash, randomBytes } from 'node:crypto';
import { CheckpointsError } from './errors';
import type { CheckpointId } from './model';

/**
 * Ids of checkpoints: "cp_" and a lower-case ULID (48 bits of milliseconds, 80 random bits, Crockford's base 32), so that
 * string order is the order of time.
 */

const prefix = 'cp_';
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const form = /^cp_[0-7][0-9a-hjkmnp-tv-z]{25}$/;

const timeBits = 48n;
const randomBits = 80n;
const maxTime = (1n << timeBits) - 1n;
const maxValue = (1n << (timeBits + randomBits)) - 1n;

export function isId(text: string): boolean {
  return form.test(text);
}

/** Milliseconds since the epoch at which the id was made. */
export function timeOf(id: CheckpointId): number {
  return Number(decode(id) >> randomBits);
}

/**
 * An id later than `newest`, the newest local one, in string order: also when the clock stands still or went back. The step
 * is random, so that two processes which both saw the same newest id do not arrive at the same next one.
 */
export function nextId(newest: CheckpointId | null, now: number = Date.now()): CheckpointId {
  const fresh = (clampTime(now) << randomBits) | random(10);
  if (newest === null) return encode(fresh);
  const last = decode(newest);
  if (last >> randomBits < fresh >> randomBits) return encode(fresh);
  const next = last + 1n + random(4);
  // The random part may run over into the next millisecond; only the very last id has nothing after it.
  if (next <= maxValue) return encode(next);
  if (last < maxValue) return encode(last + 1n);
  throw new CheckpointsError('store-broken', `No id can follow ${newest}: delete the checkpoint that has it.`);
}

/**
 * The id of something that was made elsewhere at a known time: in its place in the order of time, and the same whenever and wherever it is
 * imported, since the rest comes from `origin`, which names it.
 */
export function importedId(origin: string, time: number): CheckpointId {
  const rest = BigInt(
    `0x${createHash('sha256')
      .update(origin)
      .digest('hex')
      .slice(0, Number(randomBits) / 4)}`,
  );
  return encode((clampTime(time) << randomBits) | rest);
}

function random(bytes: number): bigint {
  return BigInt(`0x${randomBytes(bytes).toString('hex')}`);
}

function clampTime(now: number): bigint {
  if (!(now > 0)) return 0n;
  return now >= Number(maxTime) ? maxTime : BigInt(Math.floor(now));
}

function encode(value: bigint): CheckpointId {
  let text = '';
  for (let rest = value, i = 0; i < 26; i++, rest >>= 5n) text = alphabet.charAt(Number(rest & 31n)) + text;
  return prefix + text;
}

function decode(id: CheckpointId): bigint {
  if (!isId(id)) throw new CheckpointsError('invalid-argument', `Not an id of a checkpoint: ${JSON.stringify(id)}.`);
  let value = 0n;
  for (const digit of id.slice(prefix.length)) value = (value << 5n) | BigInt(alphabet.indexOf(digit));
  return value;
}
