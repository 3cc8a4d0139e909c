import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { sandbox } from './rig';

/** Runs in a thread of its own as long as it is wanted. */
async function meanwhile(code: string, path: string): Promise<() => Promise<void>> {
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const source = `
    const fs = require('node:fs');
    const { parentPort, workerData: { path, stop } } = require('node:worker_threads');
    const loop = () => { ${code} };
    loop();
    parentPort.postMessage('begun');
    while (Atomics.load(stop, 0) === 0) loop();`;
  const thread = new Worker(source, { eval: true, workerData: { path, stop } });
  await once(thread, 'message');
  return async () => {
    Atomics.store(stop, 0, 1);
    await once(thread, 'exit');
  };
}

const roomy = { ...process.env, OPENCODE_CHECKPOINTS_MAX_FILE_SIZE: '200 MB' };

describe('a file that changes while it is read', () => {
  it('is named and not stored torn; when it rests it is whole', async () => {
    const box = sandbox();
    box.write('rests.txt', 'rests');
    const workspace = await box.open({ env: roomy });
    await workspace.create({ name: 'before' });
    const path = join(box.root, 'moves.bin');
    // Large, so that reading it takes longer than the others wait for their turn on a busy machine.
    const data = Buffer.alloc(96 << 20, 'so many bytes as take a while');
    writeFileSync(path, data);
    // As every write does, but without changing a byte: whatever is stored must be these.
    const touch = 'globalThis.n = (globalThis.n ?? 0) + 1; fs.utimesSync(path, 1e9 + n, 1e9 + n);';
    const stops = [await meanwhile(touch, path), await meanwhile(touch, path)];
    let named = 0;
    try {
      for (let i = 0; i < 30 && named === 0; i++) {
        const made = await workspace.create({ name: `at work ${i}` });
        const partial = made?.files.partial ?? [];
        named += partial.length;
        if (partial.length > 0) expect(partial).toEqual([{ path: 'moves.bin', reason: 'changed while it was read' }]);
        else expect(data.equals(await workspace.cat(made!.id, 'moves.bin'))).toBe(true);
      }
    } finally {
      for (const stop of stops) await stop();
    }
    expect(named).toBeGreaterThan(0);
    const rested = await workspace.create({ name: 'rested' });
    expect(rested?.files.partial).toEqual([]);
    expect(data.equals(await workspace.cat('rested', 'moves.bin'))).toBe(true);
  });

  it('is a moment of it that really was, where somebody appends to it all the time', async () => {
    const box = sandbox();
    const path = join(box.root, 'log.txt');
    writeFileSync(path, '');
    const workspace = await box.open();
    // One after the other, each line of another length: a piece that is missing or doubled is seen.
    const stop = await meanwhile(
      'globalThis.n = (globalThis.n ?? -1) + 1; fs.appendFileSync(path, n + "x".repeat(n % 97) + "\\n");',
      path,
    );
    try {
      for (let i = 0; i < 10; i++) {
        const made = await workspace.create({ name: `at ${i}` });
        if (made!.files.partial.length > 0) continue;
        const stored = Buffer.from(await workspace.cat(made!.id, 'log.txt'));
        expect(stored.equals(readFileSync(path).subarray(0, stored.length))).toBe(true);
        expect(stored.length === 0 || stored.at(-1) === 10).toBe(true);
      }
    } finally {
      await stop();
    }
    await workspace.create({ name: 'rested' });
    expect(readFileSync(path).equals(Buffer.from(await workspace.cat('rested', 'log.txt')))).toBe(true);
  });
});
