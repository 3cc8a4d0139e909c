import { randomBytes } from 'node:crypto';

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

function random(length: number): string {
  return Array.from(randomBytes(length), (byte) => digits[byte % digits.length]).join('');
}

/** 48 bits of time, in OpenCode's unit of 1/4096 ms. */
function timePart(value: bigint): string {
  return (value & 0xffffffffffffn).toString(16).padStart(12, '0');
}

/** OpenCode's own form: sessions sort newest first, so their time runs backwards. */
export function newSessionId(now = Date.now()): string {
  return `ses_${timePart(~(BigInt(now) * 0x1000n))}${random(14)}`;
}

/** `count` ids in ascending order, all of them before what the server will make from now on. */
export function newIds(prefix: 'msg' | 'prt', count: number, now = Date.now()): string[] {
  const last = BigInt(now) * 0x1000n;
  return Array.from(
    { length: count },
    (_, index) => `${prefix}_${timePart(last - BigInt(count - index))}${random(14)}`,
  );
}
