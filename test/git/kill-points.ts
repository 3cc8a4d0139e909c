/**
 * The calls at which an operation is made to die: so many of them, spread over it, the first and the last among them. All of them with
 * CRASH_EVERY=1, which takes hours (and `--testTimeout`): for whoever changes what a death may meet.
 */
export function killPoints(calls: number, samples: number): number[] {
  const count = process.env['CRASH_EVERY'] === '1' ? calls : Math.min(calls, samples);
  return Array.from({ length: count }, (_, i) => 1 + Math.round((i * (calls - 1)) / Math.max(1, count - 1)));
}
