import { chmodSync, chownSync, lstatSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { sandbox } from './rig';

const own = { uid: process.getuid!(), gid: process.getgid!() };
/** Whoever runs this: what may be given away by them. */
const other =
  own.uid === 0
    ? { uid: 12345, gid: 23456 }
    : { uid: own.uid, gid: process.getgroups!().find((gid) => gid !== own.gid) ?? own.gid };

it.each([3, 70])(
  'a restored file (of %i) has the owner and the permissions of the one that was there',
  async (count) => {
    const umask = process.umask(0o002);
    onTestFinished(() => void process.umask(umask));
    const box = sandbox();
    const of = (path: string): unknown => {
      const { uid, gid, mode } = lstatSync(join(box.root, path));
      return { uid, gid, mode: mode & 0o7777 };
    };
    mkdirSync(join(box.root, 'shared'));
    chownSync(join(box.root, 'shared'), own.uid, other.gid);
    chmodSync(join(box.root, 'shared'), 0o2775);
    const names = Array.from({ length: count }, (_, i) => `${i}.txt`);
    for (const path of ['kept.txt', 'tool.sh', 'shared/gone.txt', 'gone.txt', ...names]) box.write(path, 'old');
    chmodSync(join(box.root, 'tool.sh'), 0o775);
    const workspace = await box.open();
    await workspace.create({ name: 'old' });
    for (const path of ['kept.txt', 'tool.sh', ...names]) box.write(path, 'new');
    box.sh('rm shared/gone.txt gone.txt');
    for (const [path, mode] of [
      ['kept.txt', 0o640],
      ['tool.sh', 0o754],
    ] as const) {
      chownSync(join(box.root, path), other.uid, other.gid);
      chmodSync(join(box.root, path), mode);
    }
    await workspace.restore('old');
    expect(box.read('kept.txt')).toBe('old');
    expect({ kept: of('kept.txt'), tool: of('tool.sh') }).toEqual({
      kept: { ...other, mode: 0o640 },
      tool: { ...other, mode: 0o754 },
    });
    expect(of('shared/gone.txt')).toEqual({ uid: own.uid, gid: other.gid, mode: 0o664 });
    expect(of('gone.txt')).toEqual({ ...own, mode: 0o664 });
  },
);
