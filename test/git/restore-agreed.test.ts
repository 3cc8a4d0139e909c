import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { agreedTo, type Agreed } from '../../src/core/agreed';
import { CheckpointsError } from '../../src/core/errors';
import type { Workspace } from '../../src/core/workspace';
import { picture, sandbox, type Sandbox } from './rig';

/** A checkpoint "then", two files changed and one made since. */
async function changed(): Promise<{ box: Sandbox; workspace: Workspace; then: Map<string, string> }> {
  const box = sandbox();
  for (const name of ['a.txt', 'b.txt', 'other.txt']) box.write(name, `${name} then`);
  const workspace = await box.open();
  await workspace.create({ name: 'then' });
  const then = picture(box.root);
  box.write('a.txt', 'a now');
  box.write('b.txt', 'b now');
  box.write('made.txt', 'made');
  return { box, workspace, then };
}

const refusal = async (work: Promise<unknown>): Promise<CheckpointsError> => {
  const error: unknown = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!CheckpointsError.is(error, 'needs-confirmation')) throw new Error(`not refused, but ${String(error)}`);
  return error;
};

describe('a restore that was agreed to', () => {
  it('does what was shown, where nothing changed since', async () => {
    const { box, workspace } = await changed();
    const agreed = agreedTo(await workspace.plan('then'));
    const { restored, deleted } = await workspace.restore('then', { agreed });
    expect([restored, deleted]).toEqual([['a.txt', 'b.txt'], ['made.txt']]);
    expect(box.read('a.txt')).toBe('a.txt then');
  });

  it.each<[string, (box: Sandbox) => void, string[], string[]]>([
    ['a file was made', (box) => box.write('mine.txt', 'mine'), ['mine.txt'], ['mine.txt']],
    ['a file that it would write was edited', (box) => box.write('a.txt', 'edited'), ['a.txt'], []],
    ['a file that it would delete was edited', (box) => box.write('made.txt', 'more'), ['made.txt'], ['made.txt']],
    ['a file that it would leave alone was edited', (box) => box.write('other.txt', 'edited'), ['other.txt'], []],
    ['a file was deleted', (box) => rmSync(join(box.root, 'other.txt')), ['other.txt'], []],
    [
      'a file was renamed',
      (box) => renameSync(join(box.root, 'b.txt'), join(box.root, 'c.txt')),
      ['b.txt', 'c.txt'],
      ['c.txt'],
    ],
    [
      'a folder stands where a file was',
      (box) => {
        rmSync(join(box.root, 'a.txt'));
        mkdirSync(join(box.root, 'a.txt'));
        box.write('a.txt/mine', 'mine');
      },
      ['a.txt', 'a.txt/mine'],
      ['a.txt/mine'],
    ],
  ])('is refused, and changes nothing, where %s since', async (_, change, paths, deleted) => {
    const { box, workspace, then } = await changed();
    const agreed = agreedTo(await workspace.plan('then'));
    change(box);
    const before = picture(box.root);
    const count = (await workspace.list()).length;
    const { details } = await refusal(workspace.restore('then', { agreed }));
    expect(details).toMatchObject({ paths, deleted });
    expect(picture(box.root)).toEqual(before);
    expect(await workspace.list()).toHaveLength(count);
    // Whoever is asked again may agree to it as it is now.
    await workspace.restore('then', { agreed: details?.['agreed'] as Agreed });
    expect(picture(box.root)).toEqual(then);
  });

  it('leaves out what somebody wants left out', async () => {
    const { box, workspace } = await changed();
    const agreed = agreedTo(await workspace.plan('then'));
    box.write('a.txt', 'edited');
    const { kept } = await workspace.restore('then', { agreed, keep: ['a.txt'] });
    expect(kept.map(({ path }) => path)).toEqual(['a.txt']);
    expect(box.read('a.txt')).toBe('edited');
    expect(box.read('b.txt')).toBe('b.txt then');
  });

  it('may change what was ticked, and what a copy of the plan names whatever it holds', async () => {
    const { box, workspace } = await changed();
    const plan = await workspace.plan('then');
    box.write('a.txt', 'edited');
    const ticked = ['b.txt'];
    await workspace.restore('then', { paths: ticked, agreed: agreedTo(plan, ticked) });
    expect([box.read('a.txt'), box.read('b.txt')]).toEqual(['edited', 'b.txt then']);
    await workspace.restore('then', { agreed: agreedTo({ ...plan }) });
    expect(box.read('a.txt')).toBe('a.txt then');
  });

  it('is not refused for a ticked file that is gone by itself meanwhile', async () => {
    const { box, workspace } = await changed();
    const plan = await workspace.plan('then');
    const ticked = ['a.txt', 'made.txt'];
    rmSync(join(box.root, 'made.txt'));
    const { restored, deleted } = await workspace.restore('then', { paths: ticked, agreed: agreedTo(plan, ticked) });
    expect([restored, deleted]).toEqual([['a.txt'], []]);
  });

  it('is not refused for an ignored file that the checkpoint has', async () => {
    const box = sandbox();
    box.write('a.txt', 'a');
    const workspace = await box.open();
    box.write('local.cfg', 'then');
    await workspace.create({ name: 'then' });
    box.write('.gitignore', 'local.cfg\n');
    box.write('local.cfg', 'now');
    const agreed = agreedTo(await workspace.plan('then'));
    await workspace.restore('then', { agreed });
    expect(box.read('local.cfg')).toBe('then');
  });
});
