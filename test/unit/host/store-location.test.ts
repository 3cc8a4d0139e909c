import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeStoreLocation, type Memory, type Written } from '../../../src/host/store-location';

describe('the store location in the global file', () => {
  let folder: string;
  let path: string;
  let written: Written | undefined;
  const memory: Memory = {
    get: () => written,
    set: async (value) => {
      written = value;
    },
  };

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'store-location-'));
    path = join(folder, 'deep', 'config.json');
    written = undefined;
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const write = (wanted: string): Promise<void> => writeStoreLocation(path, wanted, memory);
  const content = (): unknown => JSON.parse(readFileSync(path, 'utf8'));
  const userWrites = async (text: string): Promise<void> => {
    await write('/made');
    await write('');
    writeFileSync(path, text);
  };

  it('comes and goes with the setting, beside what else is there', async () => {
    await userWrites('{"maxAge": 3}');
    await write('/a');
    expect(content()).toEqual({ maxAge: 3, storeLocation: '/a' });
    await write('/b');
    expect(content()).toEqual({ maxAge: 3, storeLocation: '/b' });
    await write('');
    expect(content()).toEqual({ maxAge: 3 });
    expect(written).toBeUndefined();
  });

  it('stays when the user wrote it, also where the setting said the same for a while', async () => {
    await userWrites('{"storeLocation": "/mine"}');
    await write('');
    expect(content()).toEqual({ storeLocation: '/mine' });
    await write('/mine');
    await write('');
    expect(content()).toEqual({ storeLocation: '/mine' });
  });

  it('comes back when the setting had stood in front of it', async () => {
    await userWrites('{"storeLocation": "/mine"}');
    await write('/a');
    await write('/b');
    await write('');
    expect(content()).toEqual({ storeLocation: '/mine' });
  });

  it('stays when the user changed it after us', async () => {
    await write('/a');
    writeFileSync(path, '{"storeLocation": "/later"}');
    await write('');
    expect(content()).toEqual({ storeLocation: '/later' });
  });

  it('makes no file for nothing', async () => {
    await write('');
    expect(() => readFileSync(path)).toThrow(/ENOENT/);
  });

  it.each(['{"maxAge": 3,}', '[]', '7'])('leaves a file alone that it cannot read: %s', async (text) => {
    await userWrites(text);
    await expect(write('/a')).rejects.toMatchObject({
      reason: 'invalid-argument',
      message: expect.stringContaining(path) as unknown,
    });
    expect(readFileSync(path, 'utf8')).toBe(text);
    expect(written).toBeUndefined();
  });
});
