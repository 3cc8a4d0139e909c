import { once } from 'node:events';
import type { ChildProcess } from 'node:child_process';
import { expect, it, vi } from 'vitest';
import { ObjectReader } from '../../src/git/object-reader';
import type { GitStore } from '../../src/git/store';
import { sandbox } from './rig';

interface Inner {
  first: { child: ChildProcess | null };
  second: { child: ChildProcess | null };
}

it('shares many questions among two gits, once they were missed, and goes on where one dies', async () => {
  const box = sandbox();
  const workspace = await box.open();
  const { store } = workspace as unknown as { store: GitStore };
  const writer = store.newWriter();
  const contents = Array.from({ length: 70 }, (_, i) => Buffer.from(`content ${i}\n`.repeat(1 + i * 40)));
  const oids = contents.map((data) => writer.add('blob', data));
  await writer.flush();
  const reader = new ObjectReader(store.layout.gitDir);
  const { first, second } = reader as unknown as Inner;
  const missing = '0123456789'.repeat(4);
  const all = async (): Promise<Array<string | null>> => {
    const found = await Promise.all([...oids, missing].map((oid) => reader.read(oid)));
    return found.map((object) => object && object.data.toString());
  };
  const expected = [...contents.map(String), null];

  expect((await reader.blob(oids[3]!)).toString()).toBe(expected[3]);
  expect(second.child).toBeNull();
  expect(await all()).toEqual(expected);
  await vi.waitUntil(() => second.child !== null, { timeout: 20_000 });
  expect(await all()).toEqual(expected);

  const asked = Promise.allSettled(oids.map((oid) => reader.read(oid)));
  await Promise.resolve(); // they are sent
  await Promise.resolve();
  const dying = second.child!;
  const died = once(dying, 'close');
  dying.kill('SIGSTOP');
  dying.kill('SIGKILL');
  const answers = await asked;
  expect(answers.slice(0, 35).map(({ status }) => status)).toEqual(Array(35).fill('fulfilled'));
  await died;
  expect(await all()).toEqual(expected);

  const gone = once(first.child!, 'exit');
  reader.close();
  await gone;
  await expect(reader.read(oids[0]!)).resolves.not.toBeNull(); // as before: it is started again
  reader.close();
  await workspace.close();
});
