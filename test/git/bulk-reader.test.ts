import { randomBytes } from 'node:crypto';
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { GitStore } from '../../src/git/store';
import { picture, sandbox } from './rig';

const hundreds = Array.from({ length: 300 }, (_, i) => `many/${i % 7}/${i}.txt`);

describe('many objects at once', () => {
  it('come in their order, of any size, and what is missing is told', async () => {
    const box = sandbox();
    const workspace = await box.open();
    const { store } = workspace as unknown as { store: GitStore };
    const writer = store.newWriter();
    const contents = [
      Buffer.alloc(0),
      randomBytes(200_000),
      ...hundreds.map((name) => Buffer.from(`\n${name}\0 missing\n`)),
    ];
    const oids = contents.map((data) => writer.add('blob', data));
    await writer.flush();
    const missing = '0123456789'.repeat(4);
    const asked = [...oids, missing, oids[1]!];
    const found: Array<string | null> = [];
    const { used } = await store.reader.each(asked, (i, object) => {
      expect(i).toBe(found.length);
      found.push(object && object.data.toString('latin1'));
    });
    expect(used).toBe(asked.length);
    const texts = contents.map((data) => data.toString('latin1'));
    expect(found).toEqual([...texts, null, texts[1]]);
  });

  it('end with the failure of whoever uses them', async () => {
    const box = sandbox();
    const workspace = await box.open();
    const { store } = workspace as unknown as { store: GitStore };
    const oid = await store.addContent(Buffer.from('x'));
    const asked = hundreds.map(() => oid);
    let used = 0;
    const failing = store.reader.each(asked, () => {
      used += 1;
      if (used === 2) throw new Error('no room');
    });
    await expect(failing).rejects.toThrow('no room');
    expect(used).toBe(2);
  });

  it('are restored exactly, and a damaged one is written again before the file is overwritten', async () => {
    const box = sandbox();
    const write = (): void => hundreds.forEach((name) => box.write(name, randomBytes(600)));
    write();
    const workspace = await box.open();
    await workspace.create({ name: 'old' });
    const old = picture(box.root);
    const before = packsOf(workspace.folder);
    write();
    const fresh = picture(box.root);
    await workspace.create({ name: 'new' });
    await workspace.close();
    // Contents come first in a pack.
    const [pack] = packsOf(workspace.folder).filter((path) => !before.includes(path));
    chmodSync(pack!, 0o644);
    writeFileSync(pack!, readFileSync(pack!).fill(0, 50_000, 52_000));
    const again = await box.open();
    expect((await again.restore('old')).restored).toHaveLength(hundreds.length);
    expect(picture(box.root)).toEqual(old);
    await again.close();
    const later = await box.open();
    await later.undo();
    expect(picture(box.root)).toEqual(fresh);
    expect(await later.doctor()).toEqual([]);
  });
});

function packsOf(folder: string): string[] {
  const packs = join(folder, 'snapshots.git', 'objects', 'pack');
  return readdirSync(packs)
    .filter((name) => name.endsWith('.pack'))
    .map((name) => join(packs, name));
}
