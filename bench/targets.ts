import type { Ledger } from './ledger';
import { copies, operations, ours } from './names';

/** One comparison. `ratio` is how many times better ours is; it is met when it is at least `target`. */
export interface Ratio {
  operation: string;
  peer: string;
  ratio: number;
  target: number;
  met: boolean;
}

export interface TargetInput {
  ledger: Ledger;
  peers: readonly string[];
  scanning: readonly string[];
  /** git can watch the file system for us. */
  fsmonitor: boolean;
}

/** The promises of the product, as ratios of one run. What was not measured is not judged. */
export function judge({ ledger, peers, scanning, fsmonitor }: TargetInput): Ratio[] {
  const ratios: Ratio[] = [];
  const add = (operation: string, peer: string, ratio: number | null, target: number): void => {
    if (ratio !== null && Number.isFinite(ratio)) ratios.push({ operation, peer, ratio, target, met: ratio >= target });
  };
  const against = (operation: string, peer: string, target: number, ourOperation = operation): void =>
    add(operation, peer, quotient(ledger.median(operation, peer), ledger.median(ourOperation, ours)), target);
  const limit = (operation: string, most: number, unit: string, found: number | null): void =>
    add(operation, `limit ${most} ${unit}`, quotient(most, found), 1);

  against(operations.first, 'roo', 20);
  against(operations.first, 'opencode', 1);
  against(operations.firstPlain, 'roo', 2);
  for (const peer of peers) against(operations.knownPath, peer, 50);
  add(
    operations.laneLarge,
    operations.laneSmall,
    quotient(ledger.median(operations.laneSmall, ours), ledger.median(operations.laneLarge, ours)),
    1 / 3,
  );
  for (const peer of peers) against(operations.oneEdit, peer, fsmonitor ? 3 : 1.5);
  for (const peer of scanning) against(operations.nothing, peer, 1);
  for (const peer of peers) against(operations.restoreOne, peer, 1.3);
  for (const operation of [operations.restoreHundred, operations.restoreMany]) {
    const fastest = fastestCorrect(ledger, operation, peers);
    if (fastest !== null) against(operation, fastest, 1);
  }
  for (const peer of peers) against(operations.diff, peer, peer === 'opencode' ? 8 : 50);
  add(
    operations.storage,
    copies,
    quotient(ledger.bytes(operations.storage, copies), ledger.bytes(operations.storage, ours)),
    5,
  );
  add(
    operations.pruned,
    operations.storage,
    quotient(ledger.bytes(operations.storage, ours), ledger.bytes(operations.pruned, ours)),
    1.3,
  );
  limit(operations.callV1, 15, 'ms', ledger.median(operations.callV1, ours));
  limit(operations.callV2, 15, 'ms', ledger.median(operations.callV2, ours));
  limit(operations.listAll, 50, 'ms', ledger.median(operations.listAll, ours));
  limit(operations.listPage, 50, 'ms', ledger.median(operations.listPage, ours));
  limit(operations.search, 50, 'ms', ledger.median(operations.search, ours));
  limit(operations.coldStart, 1000, 'ms', ledger.median(operations.coldStart, ours));
  const memory = ledger.bytes(operations.memory, ours);
  limit(operations.memory, 80, 'MB', memory === null ? null : memory / 1e6);
  for (const peer of peers) against(operations.freshProcess, peer, 1);
  return ratios;
}

function fastestCorrect(ledger: Ledger, operation: string, peers: readonly string[]): string | null {
  let best: { peer: string; ms: number } | null = null;
  for (const peer of peers) {
    const ms = ledger.median(operation, peer);
    if (ms !== null && ledger.correct(operation, peer) && (best === null || ms < best.ms)) best = { peer, ms };
  }
  return best?.peer ?? null;
}

function quotient(above: number | null, below: number | null): number | null {
  return above === null || below === null ? null : above / Math.max(below, 1e-6);
}
