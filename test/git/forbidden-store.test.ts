import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CheckpointsError } from '../../src/core/errors';
import { readWorkspaceFile } from '../../src/git/layout';

const nobody = 65534;

/** Root may read everything: what another user meets is seen as another user. */
const asSomebodyElse = <T>(work: () => T): T => {
  if (process.geteuid?.() !== 0) return work();
  process.seteuid?.(nobody);
  try {
    return work();
  } finally {
    process.seteuid?.(0);
  }
};

describe("another user's store", () => {
  let home: string;
  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), 'forbidden-'));
    mkdirSync(join(home, 'store'));
    writeFileSync(join(home, 'store', 'workspace.json'), '{"root":"/project","format":1}', { mode: 0 });
  });
  afterAll(() => rmSync(home, { recursive: true, force: true }));

  it('may not be read, and is not called damaged', () => {
    const read = (): unknown => asSomebodyElse(() => readWorkspaceFile(join(home, 'store', 'workspace.json')));
    expect(read).toThrow(`The store may not be read (${join(home, 'store')}).`);
    let failure: unknown;
    try {
      read();
    } catch (error) {
      failure = error;
    }
    expect(CheckpointsError.is(failure, 'store-readonly')).toBe(true);
  });
});
