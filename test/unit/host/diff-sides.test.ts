import { describe, expect, it } from 'vitest';
import type * as vscode from 'vscode';
import { previousSides, sideOf, type Place } from '../../../src/host/diff-sides';
import { nothingUri, parseSnapshotUri, snapshotUri } from '../../../src/host/uris';
import { record } from './record';
import { uri } from './uri';

const partsOf = ({ scheme, authority, path, query }: vscode.Uri) => ({ scheme, authority, path, query });

/** A root whose checkpoints hold these paths. */
const rootWith = (held: Record<string, string[]>): Place => ({
  api: {
    stat: async (checkpoint, path) => (held[checkpoint]?.includes(path) === true ? { kind: 'file', size: 1 } : null),
  },
  toUri: (path) => uri(`/project/${path}`),
});

describe('the sides of a diff', () => {
  it.each([
    ['a file', snapshotUri, false],
    ['a file that is not there', nothingUri, true],
  ])('keep checkpoint and address: %s', (_, side, empty) => {
    for (const file of [uri('/project/a.ts'), uri('/share/x.ts', 'server')]) {
      const place = parseSnapshotUri(side('cp_1', file));
      expect(place).toMatchObject({ checkpoint: 'cp_1', empty });
      expect(partsOf(place.file)).toEqual(partsOf(file));
    }
  });

  it('are empty where the checkpoint has no such file, and still name the checkpoint', async () => {
    const root = rootWith({ cp_1: ['a.ts'] });
    const places = await Promise.all(['a.ts', 'b.ts'].map((path) => sideOf(root, 'cp_1', path)));
    expect(places.map(parseSnapshotUri)).toMatchObject([
      { checkpoint: 'cp_1', empty: false, file: { path: '/project/a.ts' } },
      { checkpoint: 'cp_1', empty: true, file: { path: '/project/b.ts' } },
    ]);
  });

  it.each([
    ['changed', { path: 'new.ts' }, { cp_1: ['new.ts'], cp_2: ['new.ts'] }, '/project/new.ts', false],
    ['renamed', { path: 'new.ts', from: 'old.ts' }, { cp_1: ['old.ts'], cp_2: ['new.ts'] }, '/project/old.ts', false],
    ['added', { path: 'new.ts' }, { cp_1: [], cp_2: ['new.ts'] }, '/project/new.ts', true],
  ])('begin with what the file was before: %s', async (_, change, held, path, empty) => {
    const sides = await previousSides(rootWith(held), record('cp_2'), record('cp_1'), change);
    expect(sides.map(parseSnapshotUri)).toMatchObject([
      { checkpoint: 'cp_1', empty, file: { path } },
      { checkpoint: 'cp_2', empty: false, file: { path: '/project/new.ts' } },
    ]);
  });

  it('mean the only checkpoint there is when none comes before it', async () => {
    const sides = await previousSides(rootWith({ cp_2: ['a.ts'] }), record('cp_2'), undefined, { path: 'a.ts' });
    expect(sides.map(parseSnapshotUri)).toMatchObject([
      { checkpoint: 'cp_2', empty: true },
      { checkpoint: 'cp_2', empty: false },
    ]);
  });
});
