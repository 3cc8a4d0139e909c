import { lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { call, edit, shell, write } from '../rig/script';
import { textOf } from '../rig/scripted-model';
import { Desk, generations, Machine, view } from './story-desk';

const cart = 'export const total = (items) => items.length;\n';
const files = {
  'README.md': '# Shop\n',
  'src/cart.js': cart,
  'src/pay.js': "import { total } from './cart.js';\nexport const pay = () => total([]);\n",
  'src/legacy/old.js': 'export const old = 1;\n',
  'src/legacy/deep/older.js': 'export const older = 2;\n',
};
const logo = Uint8Array.from({ length: 600 }, (_, index) => index % 256);

/** Afternoons with an agent, its plugin at work inside OpenCode. */
describe.each(generations)('with an agent, on OpenCode %s', (generation) => {
  let desk: Desk;

  beforeAll(async () => {
    const machine = await Machine.start({ generation, files, otherModels: ['sharp'] });
    const at = (path: string): string => join(machine.folder, path);
    await writeFile(at('src/legacy/logo.bin'), logo);
    await writeFile(at('src/legacy/build.sh'), '#!/bin/sh\r\nexit 0\n');
    await chmod(at('src/legacy/build.sh'), 0o755);
    await symlink('old.js', at('src/legacy/link.js'));
    await mkdir(at('src/legacy/empty'));
    desk = await Desk.start('agent', machine);
    await desk.workbench.openContainer(view);
  });
  afterAll(async () => {
    await desk?.stop();
  });
  afterEach(({ task }) => desk.shotOfFailure(task));

  it('a refactoring is looked through, taken back without one’s own work, and half of it kept', async () => {
    const { workbench, opencode } = desk;
    await workbench.command('Checkpoints: Create Named Checkpoint…');
    await workbench.answer('Before the refactoring');
    await workbench.row(view, 'Before the refactoring').waitFor();

    const conversation = await opencode.createSession('Refactoring');
    const prompt = 'Rename total to sum';
    await opencode.turn(conversation, prompt, [
      { text: 'The cart first.', tools: [edit('src/cart.js', 'total', 'sum')] },
      { text: 'A file for it.', tools: [write('src/sum.js', "export { sum } from './cart.js';\n")] },
      { text: 'Done.' },
    ]);
    await desk.point(({ trigger, turn }) => trigger === 'idle' && turn?.prompt === prompt, 'the end of the turn');
    // pay.js was forgotten, and the user, meanwhile, wrote something of their own.
    await desk.session.write('README.md', '# Shop\n\nMy own line.\n');

    await workbench.expand(view, /^Refactoring/);
    await workbench.contextMenu(workbench.row(view, new RegExp(`^${prompt}`)), 'Show Changes of This Turn');
    await workbench.tab(/Changes of “Rename total to sum”/).waitFor();
    await workbench.page.locator('.multiDiffEntry').nth(1).waitFor();
    await desk.shot('1-changes-of-the-turn');

    await workbench.rowAction(view, new RegExp(`^${prompt}`), 'Restore Checkpoint');
    const question = await workbench.modalText();
    expect(question).toContain('Go back to before “Rename total to sum”?');
    expect(question).toContain('2 files will be written.');
    expect(question).toContain('1 file made since then will be deleted.');
    expect(question).toContain('1 of them holds changes that you made yourself.');
    await desk.shot('2-restore');
    await workbench.modalClick('Restore, Keep My Edits');
    await workbench.notification('Restored: 1 file written, 1 deleted, 1 kept.').waitFor();
    expect(await desk.read('src/cart.js')).toBe(cart);
    expect(desk.session.exists('src/sum.js')).toBe(false);
    expect(await desk.read('README.md')).toBe('# Shop\n\nMy own line.\n');

    await workbench.notificationClick('Restored: 1 file written', 'Undo');
    await workbench.notification('Undone: 2 files written.').waitFor();
    expect(await desk.read('src/cart.js')).toContain('sum');
    // One file alone goes back, from the checkpoint made by hand.
    await workbench.dismissNotifications();
    await workbench.openFile('src/cart.js');
    await workbench.command('Checkpoints: Restore This File');
    await workbench.pick(/Before the refactoring/);
    await workbench.notification('Restored: 1 file written.').waitFor();
    expect(await desk.read('src/cart.js')).toBe(cart);
    expect(desk.session.exists('src/sum.js')).toBe(true);
    await desk.shot('3-one-file');
    await workbench.dismissNotifications();
  });

  it('a folder that the agent deleted comes back as it was', async () => {
    const { workbench, opencode } = desk;
    const conversation = await opencode.createSession('Cleaning');
    const prompt = 'Remove what nobody needs';
    await opencode.turn(conversation, prompt, [
      { text: 'That looks old.', tools: [shell('rm -rf src/legacy')] },
      { text: 'And a word about it.', tools: [write('CHANGES.md', 'Removed the old code.\n')] },
      { text: 'Done.' },
    ]);
    expect(desk.session.exists('src/legacy')).toBe(false);
    await desk.point(({ trigger, turn }) => trigger === 'idle' && turn?.prompt === prompt, 'the end of the turn');
    await workbench.expand(view, /^Cleaning/);
    await workbench.rowAction(view, new RegExp(`^${prompt}`), 'Restore Checkpoint');
    expect(await workbench.modalText()).toContain('5 files will be written.');
    // Only the folder: what was written about it stays.
    await workbench.modalClick('Choose…');
    await workbench.quickRows.first().waitFor();
    await desk.shot('4-what');
    await workbench.confirmPick();
    await workbench.row('Restore Plan', 'CHANGES.md').waitFor();
    await workbench.tick('Restore Plan', 'CHANGES.md', false);
    await desk.shot('5-plan');
    await workbench.viewAction('Restore Plan', 'Restore Ticked Files');
    await workbench.notification('Restored: 5 files written').waitFor();
    const at = (path: string): string => join(desk.machine.folder, 'src/legacy', path);
    expect(readFileSync(at('logo.bin'))).toEqual(Buffer.from(logo));
    expect(readFileSync(at('build.sh'), 'utf8')).toBe('#!/bin/sh\r\nexit 0\n');
    expect(lstatSync(at('build.sh')).mode & 0o111).toBe(0o111);
    expect(readlinkSync(at('link.js'))).toBe('old.js');
    expect(await desk.read('src/legacy/deep/older.js')).toBe(files['src/legacy/deep/older.js']);
    expect(await desk.read('CHANGES.md')).toBe('Removed the old code.\n');
    await desk.shot('6-folder-is-back');
    await workbench.dismissNotifications();
  });

  it('two approaches are tried from one decision, and compared', async () => {
    const { workbench, opencode } = desk;
    const conversation = await opencode.createSession('Discounts');
    await opencode.turn(conversation, 'How could a discount work?', [{ text: 'By a flag or by a class.' }]);
    const first = 'Take the flag';
    await opencode.turn(conversation, first, [
      { text: 'A flag.', tools: [write('src/discount.js', 'export const discount = true;\n')] },
      { text: 'Done.' },
    ]);
    await desk.point(({ trigger, turn }) => trigger === 'idle' && turn?.prompt === first, 'the end of the turn');
    // Back to the moment of the decision: the files, and the conversation in a session of its own.
    await workbench.expand(view, /^Discounts/);
    await workbench.rowAction(view, new RegExp(`^${first}`), 'Restore Checkpoint');
    await workbench.modalClick('Choose…');
    await workbench.quickRows.filter({ hasText: 'Conversation' }).click();
    await workbench.confirmPick();
    await workbench.row('Restore Plan', 'discount.js').waitFor();
    await workbench.viewAction('Restore Plan', 'Restore Ticked Files');
    await workbench.notification('Restored: 1 file deleted, new session made.').waitFor();
    expect(desk.session.exists('src/discount.js')).toBe(false);
    const fork = await desk.forkMade();
    await desk.shot('7-fork');
    const second = 'Take the class';
    await opencode.turn(fork, second, [
      { text: 'A class.', tools: [write('src/discount.js', 'export class Discount {}\n')] },
      { text: 'Done.' },
    ]);
    await desk.point(({ trigger, turn }) => trigger === 'idle' && turn?.prompt === second, 'the end of the turn');
    // The model that took the class knows the question, and nothing of the flag.
    const asked = opencode.model.requests.findLast(({ prompt }) => prompt === second);
    const told = (asked?.messages ?? []).map(textOf).join('\n');
    expect(told).toContain('By a flag or by a class.');
    expect(told).not.toContain('A flag.');
    expect((await opencode.messages(conversation)).map(({ text }) => text)).toContain(first);

    await workbench.command('Checkpoints: Open Timeline');
    const page = await workbench.webview('checkpoints-timeline .row');
    await page
      .locator('.row', { hasText: `Turn ended: ${first}` })
      .first()
      .click();
    await page
      .locator('.row', { hasText: `Turn ended: ${second}` })
      .first()
      .click({ modifiers: ['Control'] });
    await page.getByText('Compare A with B').waitFor();
    await desk.shot('8-marked');
    await page.getByText('Compare A with B').click();
    await workbench.tab(/Turn ended: Take the flag ↔ Turn ended: Take the class/).waitFor();
    await desk.shot('9-compared');
    // The flag it is.
    await workbench.command('Checkpoints: Open Timeline');
    const again = await workbench.webview('checkpoints-timeline .row');
    await again
      .locator('.row', { hasText: `Turn ended: ${first}` })
      .first()
      .click();
    await again.getByRole('button', { name: 'Restore…' }).first().click();
    await workbench.modalClick('Restore');
    await workbench.notification('Restored: 1 file written.').waitFor();
    expect(await desk.read('src/discount.js')).toBe('export const discount = true;\n');
    await workbench.dismissNotifications();
  });

  it('another model goes on in the middle, with the handoff', async () => {
    const { workbench, opencode } = desk;
    const conversation = await opencode.createSession('Invoices');
    await opencode.turn(conversation, 'Begin the invoices', [
      { text: 'A start.', tools: [write('src/invoice.js', 'export const invoice = 1;\n')] },
      {
        text: 'I write down where I am.',
        tools: [
          call('checkpoint_save', {
            title: 'Invoices',
            objective: 'Every order gets an invoice',
            status: 'in_progress',
            completedSteps: ['An empty invoice'],
            nextSteps: ['Number the invoices'],
            snapshotName: 'half way',
          }),
        ],
      },
      { text: 'Half done.' },
    ]);
    await workbench.openView('Task');
    await workbench.row('Task', 'Every order gets an invoice').waitFor();
    await workbench.command('Checkpoints: Open Handoff');
    await workbench.webview('h2:has-text("Next Steps")');
    await desk.shot('10-handoff');

    const goOn = 'Go on from the handoff';
    await opencode.turn(
      conversation,
      goOn,
      [
        { text: 'Where was I?', tools: [call('checkpoint_load')] },
        { text: 'The numbers.', tools: [edit('src/invoice.js', '1', "'2026-1'")] },
        {
          text: 'And that is all.',
          tools: [call('checkpoint_save', { status: 'done', nextSteps: [], completedSteps: ['All of it'] })],
        },
        { text: 'Done.' },
      ],
      'sharp',
    );
    const requests = opencode.model.requests.filter(({ prompt, kind }) => prompt.includes(goOn) && kind === 'turn');
    expect(new Set(requests.map(({ model }) => model))).toEqual(new Set(['sharp']));
    // What the other model had written down is what this one was answered.
    expect((requests[1]?.messages ?? []).map(textOf).join('\n')).toContain('Every order gets an invoice');
    expect(await desk.read('.opencode/state/handoff.md')).toContain('All of it');
    await desk.point(({ trigger, task }) => trigger === 'task' && task?.status === 'done', 'the end of the task');
    const models = (await desk.points(conversation)).flatMap(({ trigger, turn }) =>
      trigger === 'turn' ? [turn?.model] : [],
    );
    expect(models).toHaveLength(2);
    expect(models[0]).toBe('scripted/sharp');
    expect(models[1]).not.toBe('scripted/sharp');

    // The second model is not trusted: files and task go back to where the first one stopped.
    await workbench.expand(view, /^Invoices/);
    await workbench.rowAction(view, 'half way', 'Restore Checkpoint');
    await desk.shot('11-half-way');
    await workbench.modalClick('Choose…');
    await workbench.quickRows.filter({ hasText: 'Task' }).click();
    await workbench.confirmPick();
    await workbench.viewAction('Restore Plan', 'Restore Ticked Files');
    await workbench.notification('Restored: 1 file written, task state brought back.').waitFor();
    expect(await desk.read('src/invoice.js')).toBe('export const invoice = 1;\n');
    await workbench.row('Task', 'Number the invoices').waitFor();
    expect(await desk.read('.opencode/state/handoff.md')).toContain('- [ ] Number the invoices');
    await desk.shot('12-task-is-back');
    // Undo takes both back, and says so.
    await workbench.notificationClick('Restored: 1 file written', 'Undo');
    await workbench.notification('Undone: 1 file written, task state brought back.').waitFor();
    expect(await desk.read('.opencode/state/handoff.md')).toContain('All of it');
  });
});
