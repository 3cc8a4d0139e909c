import type { EngineKind } from './engine';
import { oursKind } from './ours';
import { clineLegacy } from './peers/cline-legacy';
import { clineSdk } from './peers/cline-sdk';
import { opencode } from './peers/opencode';
import { roo } from './peers/roo';

export const peers: readonly EngineKind[] = [roo, clineLegacy, clineSdk, opencode];

export function kindCalled(name: string | undefined): EngineKind {
  const kind = [...peers, oursKind].find((candidate) => candidate.name === name);
  if (kind === undefined) throw new Error(`no engine is called ${name}`);
  return kind;
}
