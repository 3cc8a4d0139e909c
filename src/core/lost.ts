import type { LostCheckpoints } from './api';
import type { CheckpointId } from './model';

const named = 3;

/** What is lost; null when nothing is known to be. The way out is the host's to tell. */
export function lossInWords({ refs, records, content }: LostCheckpoints): string | null {
  const parts = [
    part(refs, 'has lost its ref and is not listed', 'have lost their refs and are not listed'),
    part(records, 'cannot be read', 'cannot be read'),
    part(content, 'has lost content', 'have lost content'),
  ].filter((text) => text !== null);
  return parts.length === 0 ? null : parts.join(' ');
}

function part(ids: readonly CheckpointId[], one: string, more: string): string | null {
  if (ids.length === 0) return null;
  const names = `${ids.slice(0, named).join(', ')}${ids.length > named ? ', and more' : ''}`;
  return ids.length === 1 ? `1 checkpoint ${one}: ${names}.` : `${ids.length} checkpoints ${more}: ${names}.`;
}
