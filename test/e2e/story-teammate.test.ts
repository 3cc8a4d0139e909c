import { execFileSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Checkpoint } from '../../src/core/model';
import { edit, write } from '../rig/script';
import { textOf } from '../rig/scripted-model';
import { Desk, generations, Machine, view } from './story-desk';

/** Anna pushes from a terminal; Ben, on another machine, goes on in VS Code; Anna gets what he made of it. */
describe.each(generations)('a teammate, on OpenCode %s', (generation) => {
  let scratch: string;
  let remote: string;
  let anna: Machine;
  let ben: Desk;
  let conversation: string;

  beforeAll(async () => {
    scratch = realpathSync(mkdtempSync(join(tmpdir(), 'checkpoints-team-')));
    remote = join(scratch, 'team.git');
    execFileSync('git', ['init', '-q', '--bare', remote]);
    const files = { 'parser.js': 'export const parse = () => null;\n', '.env': 'TOKEN=secret\n' };
    anna = await Machine.start({ generation, files });
    ben = await Desk.start('teammate', await Machine.start({ generation, files: { ...files, 'own.txt': 'of Ben\n' } }));
    execFileSync('git', ['remote', 'add', 'team', remote], { cwd: ben.machine.folder });
    await ben.workbench.openContainer(view);
  });
  afterAll(async () => {
    await ben?.stop();
    await anna?.dispose();
    rmSync(scratch, { recursive: true, force: true });
  });
  afterEach(({ task }) => ben.shotOfFailure(task));

  it('pushes a checkpoint with its conversation', async () => {
    conversation = await anna.opencode.createSession('The parser');
    await anna.opencode.turn(conversation, 'Write the parser', [
      { text: 'It parses numbers.', tools: [write('parser.js', 'export const parse = Number;\n')] },
      { text: 'Done.' },
    ]);
    const made = await anna.run(['create', 'Numbers work', '--session', conversation]);
    expect(made.stderr + made.stdout).toContain('Numbers work');
    const pushed = await anna.run(['sync', 'push', remote]);
    expect(pushed.code).toBe(0);
    expect(pushed.stdout).toMatch(/session/);
    const refs = execFileSync('git', ['for-each-ref'], { cwd: remote }).toString();
    expect(refs).toContain('refs/');
  });

  it('is continued by another, on another machine', async () => {
    const { workbench, opencode } = ben;
    await workbench.command('Checkpoints: Fetch Checkpoints…');
    await workbench.pick(/team/);
    await workbench.notification(/Fetched: \d+ new checkpoints? from/).waitFor();
    await ben.shot('1-fetched');
    await workbench.dismissNotifications();
    await workbench.expand(view, /^The parser/);
    await workbench.row(view, /^Numbers work.*from .+@.+/).waitFor();
    await workbench.rowAction(view, /^Numbers work/, 'Restore Checkpoint');
    expect(await workbench.modalText()).toContain('Restore “Numbers work”?');
    await ben.shot('2-restore');
    await workbench.modalClick('Choose…');
    await workbench.quickRows.filter({ hasText: 'Conversation' }).click();
    await workbench.confirmPick();
    // Ben's own file is not Anna's to delete.
    await workbench.row('Restore Plan', 'own.txt').waitFor();
    await workbench.tick('Restore Plan', 'own.txt', false);
    await ben.shot('3-plan');
    await workbench.viewAction('Restore Plan', 'Restore Ticked Files');
    await workbench.notification('Restored: 1 file written, new session made.').waitFor({ timeout: 60_000 });
    expect(await ben.read('parser.js')).toBe('export const parse = Number;\n');
    expect(await ben.read('own.txt')).toBe('of Ben\n');
    expect(await ben.read('.env')).toBe('TOKEN=secret\n');
    await ben.shot('4-continued');

    const fork = await ben.forkMade();
    expect(fork).not.toBe(conversation);
    const prompt = 'Now strings, too';
    await opencode.turn(fork, prompt, [
      { text: 'Strings.', tools: [edit('parser.js', 'Number', 'JSON.parse')] },
      { text: 'Both work.' },
    ]);
    // Ben's model was told what Anna's had said.
    const asked = opencode.model.requests.findLast((request) => request.prompt === prompt);
    const told = (asked?.messages ?? []).map(textOf).join('\n');
    expect(told).toContain('Write the parser');
    expect(told).toContain('It parses numbers.');
    expect(await ben.read('parser.js')).toBe('export const parse = JSON.parse;\n');
    await ben.point(({ trigger, turn }) => trigger === 'idle' && turn?.prompt === prompt, 'the end of the turn');
  });

  it('sees what became of it', async () => {
    const { workbench } = ben;
    await workbench.dismissNotifications();
    await workbench.command('Checkpoints: Create Named Checkpoint…');
    await workbench.answer('Strings work');
    await ben.point(({ name }) => name === 'Strings work', 'the one by hand');
    await workbench.command('Checkpoints: Push Checkpoints…');
    await ben.shot('5-push');
    await workbench.pick(/team/);
    expect(await workbench.modalText()).toContain('Excluded files (secrets such as .env) stay here');
    await workbench.modalClick('Push');
    await workbench.notification('Pushed to team:').waitFor();
    await ben.shot('6-pushed');
    expect((await anna.run(['sync', 'fetch', remote])).code).toBe(0);
    const { checkpoints } = await anna.answer<{ checkpoints: Checkpoint[] }>(['list', '--search', 'Strings']);
    expect(checkpoints.find(({ name }) => name === 'Strings work')?.origin).toMatchObject({
      user: expect.any(String) as string,
    });
    const there = await anna.run(['cat', 'Strings work', 'parser.js']);
    expect(there.stdout).toBe('export const parse = JSON.parse;\n');
    // Secrets stayed where they were.
    expect((await anna.run(['cat', 'Strings work', '.env'])).code).toBe(1);
  });
});
