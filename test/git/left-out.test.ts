import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { SessionAnchor, TurnInfo } from '../../src/core/model';
import { findOriginals } from '../../src/core/originals';
import { sandbox, type Sandbox } from './rig';

const session: SessionAnchor = { id: 'ses_1', messageId: null, messageCount: 0, title: 'one', parent: null };
const turn: TurnInfo = { number: 1, prompt: 'go', model: null, agent: null, cost: null, tokens: null };
const small = { ...process.env, OPENCODE_CHECKPOINTS_MAX_FILE_SIZE: '1 MB' };
const content = (box: Sandbox, path: string): string => readFileSync(join(box.root, path), 'utf8');
const ignored = 'left out when the checkpoint was made (ignored)';

describe('what was out when the checkpoint was made is not deleted by a restore', () => {
  it('ignored files, when the ignore file went and comes back', async () => {
    const box = sandbox();
    box.write('a', 'a');
    const workspace = await box.open();
    await workspace.create({ name: 'A' });
    box.write('.gitignore', 'node_modules/\nlocal.db\n');
    box.write('node_modules/m', 'm');
    box.write('local.db', 'PRECIOUS');
    const { id } = await workspace.create({ name: 'B' });
    await workspace.restore('A');
    const plan = await workspace.plan(id);
    expect(plan.entries.filter((entry) => entry.action !== 'write')).toEqual([
      { path: 'local.db', action: 'skip', reason: ignored, yours: true },
      { path: 'node_modules/m', action: 'skip', reason: ignored, yours: true },
    ]);
    const result = await workspace.restore('B');
    expect([result.restored, result.deleted]).toEqual([['.gitignore'], []]);
    expect(result.skipped.map(({ path }) => path)).toEqual(['local.db', 'node_modules/m']);
    expect(content(box, 'local.db')).toBe('PRECIOUS');
    // Once more, though the files now lie in the safety checkpoint, and that is restored in between.
    await workspace.restore(result.undo!);
    await workspace.restore('B');
    expect(content(box, 'local.db')).toBe('PRECIOUS');
    expect(content(box, 'node_modules/m')).toBe('m');
  });

  // So few are not taken into the scanner's index, so many are when there is time.
  for (const count of [10, 100])
    it(`with ${count} of them, again and again`, async () => {
      const box = sandbox();
      box.write('.gitignore', '/data/\n');
      for (let i = 0; i < count; i++) box.write(`data/${i}`, `${i}`);
      const workspace = await box.open();
      await workspace.create({ name: 'then' });
      box.write('.gitignore', '');
      await workspace.create({ name: 'seen' });
      for (let i = 0; i < 2; i++) {
        const { deleted, skipped } = await workspace.restore('then');
        expect([deleted, skipped.length]).toEqual([[], count]);
      }
      expect(content(box, 'data/9')).toBe('9');
    });

  it('a file that was too large, however many others the settings left out', async () => {
    const box = sandbox();
    for (let i = 0; i < 510; i++) box.write(`${i}.key`, 'secret');
    box.write('model.bin', Buffer.alloc(2 << 20));
    const workspace = await box.open({ env: small });
    const { files } = await workspace.create({ name: 'then' });
    expect(files.skipped).toContainEqual({ path: 'model.bin', reason: 'too-large', size: 2 << 20 });
    await workspace.close();
    const later = await box.open();
    await later.create();
    expect((await later.restore('then')).deleted).toEqual([]);
    expect(existsSync(join(box.root, 'model.bin'))).toBe(true);
  });

  it('by ignore files of any folder, odd names, patterns that take some back, and empty folders', async () => {
    const box = sandbox();
    box.write('.gitignore', '*.log\n!keep.log\nlogs/\n');
    box.write('sub/.gitignore', '/out\n');
    for (const path of ['x.log', ':odd.log', 'sub/y.log', 'sub/out/deep/file']) box.write(path, path);
    mkdirSync(join(box.root, 'logs'));
    const workspace = await box.open();
    await workspace.create({ name: 'then' });
    rmSync(join(box.root, '.gitignore'));
    rmSync(join(box.root, 'sub/.gitignore'));
    box.write('keep.log', 'not ignored then');
    box.write('sub/elsewhere/out2', 'neither');
    mkdirSync(join(box.root, 'hollow'));
    const result = await workspace.restore('then');
    expect(result.deleted).toEqual(['keep.log', 'sub/elsewhere/out2']);
    expect(result.skipped.map(({ path }) => path)).toEqual([':odd.log', 'sub/out/deep/file', 'sub/y.log', 'x.log']);
    expect([existsSync(join(box.root, 'logs')), existsSync(join(box.root, 'hollow'))]).toEqual([true, false]);
  });

  it('files that were too large, also at a point of the fast lane', async () => {
    const box = sandbox();
    box.write('a', 'a');
    box.write('big', Buffer.alloc(2 << 20));
    const workspace = await box.open({ env: small });
    await workspace.create({ name: 'then' });
    const fast = await workspace.create({ trigger: 'tool', paths: ['a'] });
    expect(fast.files.lane).toBe('paths');
    box.write('big', 'small now');
    for (const to of ['then', fast.id]) {
      const { deleted, skipped } = await workspace.restore(to);
      expect([deleted, skipped]).toEqual([
        [],
        [{ path: 'big', reason: 'left out when the checkpoint was made (too-large)' }],
      ]);
    }
    expect(content(box, 'big')).toBe('small now');
  });

  it('files and folders that the settings excluded then', async () => {
    const box = sandbox();
    box.write('a', 'a');
    box.write('.env', 'KEY');
    box.write('vendor/v', 'v');
    const settings = join(box.root, '.opencode/checkpoints.json');
    box.write('.opencode/checkpoints.json', '{"exclude":["vendor/"]}');
    const first = await box.open();
    await first.create({ name: 'then' });
    await first.close();
    writeFileSync(settings, '{"exclude":["!.env"]}');
    const workspace = await box.open();
    const { files } = await workspace.create({ name: 'lifted' });
    expect(files.paths).toEqual(['.env', '.opencode/checkpoints.json', 'vendor/v']);
    const { deleted, skipped } = await workspace.restore('then');
    expect([deleted, skipped.map(({ path }) => path)]).toEqual([[], ['.env', 'vendor/v']]);
  });

  it('nor by a revert of the turn that let them in', async () => {
    const box = sandbox();
    box.write('.gitignore', 'data/\n');
    box.write('data/db', 'precious');
    const workspace = await box.open();
    const { id } = await workspace.create({ trigger: 'turn', session, turn });
    box.write('.gitignore', '\n');
    await workspace.create({ trigger: 'idle', session, turn });
    const result = await workspace.revertTurn(id);
    expect([result.restored, result.deleted]).toEqual([['.gitignore'], []]);
    expect(content(box, 'data/db')).toBe('precious');
  });
});

describe('an ignored file that a tool named', () => {
  /** One that was there before the turn, and one that the turn made; each is changed twice. */
  const edited = async () => {
    const box = sandbox();
    box.write('.gitignore', 'out/\n');
    box.write('out/had', 'precious');
    const workspace = await box.open();
    const { id } = await workspace.create({ trigger: 'turn', session, turn });
    for (const [i, content] of ['first', 'second'].entries())
      for (const path of ['out/had', 'out/made']) {
        const cause = { tool: 'write', callId: `${path} ${i}`, paths: [path] };
        await workspace.create({ trigger: 'tool', session, turn, cause, paths: [path], automatic: true });
        box.write(path, content);
      }
    await workspace.create({ trigger: 'idle', session, turn, automatic: true });
    return { box, workspace, id };
  };

  it('comes back as it was found by a revert of the turn, and goes only if the turn made it', async () => {
    const { box, workspace, id } = await edited();
    const { restored, deleted, conflicts } = await workspace.revertTurn(id);
    expect([restored, deleted, conflicts]).toEqual([['out/had'], ['out/made'], []]);
    expect(content(box, 'out/had')).toBe('precious');
    // What the undo brings back still belongs to the workspace.
    await workspace.undo();
    expect(content(box, 'out/made')).toBe('second');
    box.write('out/made', 'third');
    const later = await workspace.create({ name: 'later' });
    expect(Buffer.from(await workspace.cat(later.id, 'out/made')).toString()).toBe('third');
  });

  it('is told from one that the session made by a restore and by the first versions', async () => {
    const { box, workspace, id } = await edited();
    const { originals } = await findOriginals(workspace);
    expect(originals.map(({ path, existed, size }) => [path, existed, size])).toEqual([
      ['out/had', true, 8],
      ['out/made', false, null],
    ]);
    const { restored, deleted } = await workspace.restore(id);
    expect([restored, deleted]).toEqual([['out/had'], ['out/made']]);
    expect(content(box, 'out/had')).toBe('precious');
  });
});

describe('what was out is deleted all the same', () => {
  it('where an agent made it, by a tool that names its files', async () => {
    const box = sandbox();
    box.write('.gitignore', 'dist/\n');
    const workspace = await box.open();
    await workspace.create({ name: 'then' });
    await workspace.create({ trigger: 'tool', paths: ['dist/made'], cause: { tool: 'write', callId: '1', paths: [] } });
    box.write('dist/made', 'by the agent');
    await workspace.create({ name: 'later' });
    expect((await workspace.restore('then')).deleted).toEqual(['dist/made']);
  });

  it('by the undo of the restore that brought it', async () => {
    const box = sandbox();
    box.write('local.db', 'of then');
    const workspace = await box.open();
    await workspace.create({ name: 'then' });
    rmSync(join(box.root, 'local.db'));
    box.write('.gitignore', 'local.db\n');
    await workspace.create({ name: 'ignored' });
    await workspace.restore('then');
    expect(content(box, 'local.db')).toBe('of then');
    expect((await workspace.undo()).deleted).toEqual(['local.db']);
  });
});

describe('what a tool named since', () => {
  it('comes back as it was when it was first named', async () => {
    const box = sandbox();
    box.write('.gitignore', '*.db\n');
    box.write('local.db', 'precious');
    const workspace = await box.open();
    const before = await workspace.create({ trigger: 'turn', session, turn });
    const call = (id: string, path: string): Promise<unknown> =>
      workspace.create({
        ...{ trigger: 'tool', session, turn, automatic: true },
        ...{ paths: [path], cause: { tool: 'write', callId: id, paths: [path] } },
      });
    await call('1', 'local.db');
    box.write('local.db', 'broken');
    await call('2', 'made.db');
    box.write('made.db', 'made by the agent');
    await workspace.create({ trigger: 'idle', session, turn });
    const result = await workspace.restore(before.id);
    expect([result.restored, result.deleted, result.skipped]).toEqual([['local.db'], ['made.db'], []]);
    expect(content(box, 'local.db')).toBe('precious');
    await workspace.undo();
    expect([content(box, 'local.db'), content(box, 'made.db')]).toEqual(['broken', 'made by the agent']);
    await workspace.redo();
    expect(content(box, 'local.db')).toBe('precious');
  });
});
