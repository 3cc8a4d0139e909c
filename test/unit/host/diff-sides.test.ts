import { describe, expect, it } from 'vitest';
import type * as vscode from 'vscode';
import { sideOf, type Place } from '../../../src/host/diff-sides';
import { nothingUri, parseSnapshotUri, snapshotUri } from '../../../src/host/uris';
import { uri } from './uri';

const partsOf = ({ scheme, authority, path, query }: vscode.Uri) => ({ scheme, authority, path, query });

/** A root whose checkpoints hold these paths. */
const rootWith = (held: Record<string, string[]>): Place => ({
  api: {
    stat: async (checkpoint, path) => (held[checkpoint]?.includes(path) === true ? { kind: 'file', size: 1 } : null),
  },
  toUri: (path) => uri(`/work/${path}`),
});

describe('the sides of a diff', () => {
  it.each([
    ['a file', snapshotUri, false],
    ['a file that is not there', nothingUri, true],
  ])('keep checkpoint and address: %s', (_, side, empty) => {
    for (const file of [uri('/work/a.ts'), uri('/share/x.ts', 'server')]) {
      const place = parseSnapshotUri(side('cp_1', file));
      expect(place).toMatchObject({ checkpoint: 'cp_1', empty });
      expect(partsOf(place.file)).toEqual(partsOf(file));
    }
  });

  it('are empty where the checkpoint has no such file, and still name the checkpoint', async () => {
    const root = rootWith({ cp_1: ['a.ts'] });
    const places = await Promise.all(['a.ts', 'b.ts'].map((path) => sideOf(root, 'cp_1', path)));
    expect(places.map(parseSnapshotUri)).toMatchObject([
      { checkpoint: 'cp_1', empty: false, file: { path: '/work/a.ts' } },
      { checkpoint: 'cp_1', empty: true, file: { path: '/work/b.ts' } },
    ]);
  });
});
