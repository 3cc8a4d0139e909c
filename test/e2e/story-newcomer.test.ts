import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { oldDatabase, oldManifest, put } from '../git/import-rig';
import { shell, write } from '../rig/script';
import { Desk, generations, Machine, view } from './story-desk';

const saved = 'ses_0123456789abNewcomerStory1';
const state = (title: string, updatedAt: string): unknown => ({
  version: 2,
  updatedAt,
  task: { title, objective: 'Write the guide', status: 'in_progress' },
  nextSteps: ['Chapter two'],
});

/** What the old plugins left on the machine of somebody who used all of them, each at its usual place. */
const leaveOldData = async (machine: Machine, session: string): Promise<void> => {
  const { folder } = machine;
  const home = machine.opencode.home;
  const write = (file: string, value: unknown): void => put(file, JSON.stringify(value, null, 2));
  await oldDatabase(join(home, '.local/share/opencode/checkpoints.db'), [
    {
      id: 7,
      session_id: session,
      name: 'The outline is done',
      message_count: 4,
      metadata: JSON.stringify({ directory: folder }),
    },
  ]);
  const tasks = join(folder, '.opencode/state');
  write(join(tasks, 'checkpoint.json'), state('The guide', '2025-10-09T09:05:00.000Z'));
  write(join(tasks, 'checkpoint-history.json'), {
    snapshots: [
      {
        name: 'chapter one',
        savedAt: '2025-10-09T09:01:00.000Z',
        data: state('Chapter one', '2025-10-09T09:01:00.000Z'),
      },
    ],
  });
  oldManifest(join(home, '.openorca/checkpoints/ab12cd34'), [
    { filePath: join(folder, 'guide.md'), content: '# First words\r\n', at: '2025-10-09T08:00:00Z' },
  ]);
  const backup = join(home, 'Google Drive/opencode-sessions');
  const time = { created: 1_760_000_000_000, updated: 1_760_000_001_000 };
  write(join(backup, `session/global/${saved}.json`), {
    ...{ id: saved, projectID: 'global', directory: folder, title: 'Saved long ago', version: '0.5.0', time },
  });
  // Of a folder that this machine does not have: nobody asked for it here.
  const other = {
    id: 'ses_0123456789abNewcomerStory2',
    projectID: 'global',
    directory: '/not/here',
    title: 'Elsewhere',
  };
  write(join(backup, `session/global/${other.id}.json`), { ...other, version: '0.5.0', time });
  for (const [id, role, text] of [
    ['msg_0123456789ab01', 'user', 'What is a guide?'],
    ['msg_0123456789ab02', 'assistant', 'A book that walks.'],
  ] as const) {
    write(join(backup, `message/${saved}/${id}.json`), { id, sessionID: saved, role, time: { created: time.created } });
    const part = { id: id.replace('msg', 'prt'), messageID: id, sessionID: saved, type: 'text', text };
    write(join(backup, `part/${id}/${part.id}.json`), part);
  }
};

/** Somebody who never used git here, and comes from the older plugins. */
describe.each(generations)('a newcomer without git, on OpenCode %s', (generation) => {
  let desk: Desk;
  let conversation: string;

  beforeAll(async () => {
    const machine = await Machine.start({
      generation,
      git: false,
      files: { 'guide.md': '# The guide\n', 'notes/one.txt': 'one\n', 'notes/two.txt': 'two\n' },
    });
    conversation = await machine.opencode.createSession('Old work');
    await machine.opencode.turn(conversation, 'Make an outline', [{ text: 'Three chapters.' }]);
    await machine.opencode.turn(conversation, 'Make a checkpoint', [{ text: 'Made.' }]);
    await machine.opencode.turn(conversation, 'Forget all that', [{ text: 'Forgotten.' }]);
    await leaveOldData(machine, conversation);
    desk = await Desk.start('newcomer', machine);
    await desk.workbench.openContainer(view);
  });
  afterAll(async () => {
    await desk?.stop();
  });
  afterEach(({ task }) => desk.shotOfFailure(task));

  it('is offered what the old plugins kept, and gets all of it', async () => {
    const { workbench, opencode } = desk;
    const offer =
      'Found 1 checkpoint of opencode-checkpoint-plugin, 2 task states of checkpoint-orchestrator, 1 session of opencode-session-backup and 1 checkpoint of OpenOrca for this folder.';
    await workbench.notification(offer).waitFor();
    await desk.shot('1-offer');
    await workbench.notificationClick(offer, 'Import');
    await workbench.notification(/Imported 1 checkpoint of opencode-checkpoint-plugin/).waitFor({ timeout: 90_000 });
    await desk.shot('2-imported');
    const text = await workbench.notification(/Imported 1 checkpoint of opencode-checkpoint-plugin/).innerText();
    expect(text).toContain('Imported 2 task states of checkpoint-orchestrator');
    expect(text).toContain('Imported 1 checkpoint of OpenOrca');
    if (generation === 'v1') {
      expect(text).toContain('Imported 1 session of opencode-session-backup, 1 left out.');
      const messages = await opencode.messages(saved);
      expect(messages.map((message) => message.text)).toEqual(['What is a guide?', 'A book that walks.']);
    } else {
      // OpenCode 2 cannot read them, and that is said with its way out.
      expect(text).toContain('Nothing of opencode-session-backup could be imported, 1 left out, 1 problem');
      await workbench.notificationClick(/Imported 1 checkpoint/, 'Show Details');
      await workbench.page.locator('.editor-instance', { hasText: 'Saved long ago' }).first().waitFor();
      await desk.shot('3-details');
    }
    await workbench.dismissNotifications();
  });

  it('forks the old bookmark, and has the first version of a file', async () => {
    const { workbench, opencode } = desk;
    await workbench.expand(view, /^Old work/);
    await workbench.contextMenu(workbench.row(view, 'The outline is done'), 'Fork Session Here');
    expect(await workbench.modalText()).toMatch(/new session with 4 of \d+ messages/);
    await workbench.modalClick('Fork Session');
    await workbench.notification('new session made').waitFor();
    const fork = await desk.forkMade();
    const texts = (await opencode.messages(fork)).filter(({ type }) => type === 'user' || type === 'assistant');
    expect(texts.slice(0, 4).map(({ text }) => text)).toEqual([
      'Make an outline',
      'Three chapters.',
      'Make a checkpoint',
      'Made.',
    ]);
    await desk.shot('4-bookmark');
    await workbench.dismissNotifications();

    await workbench.expand(view, 'Without a session');
    await workbench.rowAction(view, 'Originals of OpenOrca', 'Restore Checkpoint');
    expect(await workbench.modalText()).toContain('1 file will be written.');
    await desk.shot('5-original');
    await workbench.modalClick('Restore');
    await workbench.notification('Restored: 1 file written.').waitFor();
    expect(await desk.read('guide.md')).toBe('# First words\r\n');
    await workbench.notificationClick('Restored: 1 file written.', 'Undo');
    await workbench.notification('Undone: 1 file written.').waitFor();
    expect(await desk.read('guide.md')).toBe('# The guide\n');
    await workbench.openView('Task');
    await workbench.row('Task', 'The guide').waitFor();
    await desk.shot('6-task');
    await workbench.dismissNotifications();
  });

  it('takes back what an agent did, without git', async () => {
    const { workbench, opencode } = desk;
    const session = await opencode.createSession('New work');
    const prompt = 'Tidy the notes';
    await opencode.turn(session, prompt, [
      { text: 'Away.', tools: [shell('rm -r notes')] },
      { text: 'One note.', tools: [write('notes.txt', 'one and two\n')] },
      { text: 'Done.' },
    ]);
    await desk.point(({ trigger, turn }) => trigger === 'idle' && turn?.prompt === prompt, 'the end of the turn');
    expect(desk.session.exists('notes/one.txt')).toBe(false);
    await workbench.expand(view, /^New work/);
    await workbench.rowAction(view, new RegExp(`^${prompt}`), 'Restore Checkpoint');
    await workbench.modalClick('Restore');
    await workbench.notification('Restored: 2 files written, 1 deleted.').waitFor();
    expect([await desk.read('notes/one.txt'), await desk.read('notes/two.txt')]).toEqual(['one\n', 'two\n']);
    expect(desk.session.exists('notes.txt')).toBe(false);
    expect(existsSync(join(desk.machine.folder, '.git'))).toBe(false);
    await desk.shot('7-taken-back');
  });
});
