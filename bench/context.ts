import type { EngineKind } from './engine';
import type { Ledger } from './ledger';
import type { Options } from './options';
import type { Template } from './repository';

/** What every operation of a run is handed. */
export interface Context {
  options: Options;
  /** A temporary folder of this run; removed at its end. */
  scratch: string;
  template: Template;
  engines: readonly EngineKind[];
  ledger: Ledger;
  log(line: string): void;
  /** The folder with this run's bundles: the child programs and our command line. */
  bundles: string;
}

/** The engines in another order for each repetition. */
export function rotated<T>(list: readonly T[], by: number): T[] {
  const at = list.length === 0 ? 0 : by % list.length;
  return [...list.slice(at), ...list.slice(0, at)];
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
