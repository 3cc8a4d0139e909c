import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Checkpoint } from '../../src/core/model';
import { nextId } from '../../src/core/ulid';
import { checkpointMessage } from '../../src/git/records';
import { VsCodeSession } from '../rig/vscode-session';
import { project, withStore } from './afternoon';

const view = 'Checkpoints';
const many = 2000;

/** A long year of work, written into the store the fast way: one real checkpoint, and its record many times over. */
const seed = (folder: string, first: Checkpoint): void => {
  const start = Date.parse(first.createdAt) - many * 600_000;
  let id: string | null = null;
  const commands: string[] = [];
  for (let index = 0; index < many; index += 1) {
    const at = start + index * 600_000;
    id = nextId(id, at);
    const session = `ses_${Math.floor(index / 100)}`;
    const number = (index % 100) + 1;
    const message = checkpointMessage({
      ...first,
      id,
      createdAt: new Date(at).toISOString(),
      title: `Prompt ${index}`,
      name: null,
      trigger: 'turn',
      session: {
        id: session,
        messageId: null,
        messageCount: number,
        title: `Session ${session.slice(4)}`,
        parent: null,
      },
      turn: { number, prompt: `Prompt ${index}`, model: null, agent: null, cost: null, tokens: null },
    });
    const who = `Test <test@example.invalid> ${Math.floor(at / 1000)} +0000`;
    commands.push(
      `commit refs/checkpoints/${id}\ncommitter ${who}\ndata ${Buffer.byteLength(message)}\n${message}M 040000 ${first.files.tree} \n`,
    );
  }
  execFileSync('git', [`--git-dir=${join(folder, 'snapshots.git')}`, 'fast-import', '--quiet', '--force'], {
    input: commands.join('\n'),
  });
};

describe(`${many} checkpoints`, () => {
  let session: VsCodeSession;

  beforeAll(async () => {
    session = await VsCodeSession.start({ files: project });
    await withStore(session, async (api) => seed(api.folder, await api.create({ name: 'The first one by hand' })));
  });
  afterAll(() => session?.stop());
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail')
      await session.workbench.screenshot(`failed-many-${task.name.replace(/\W+/g, '-')}`);
  });

  it('are listed by session, page by page', async () => {
    const { workbench } = session;
    await workbench.openContainer(view);
    await workbench.expand(view, /^Session 19/);
    await workbench.row(view, 'Prompt 1999').waitFor();
    await workbench.screenshot('many-1-tree');
  });

  it('are found by text', async () => {
    const { workbench } = session;
    await workbench.command('Checkpoints: Search…');
    await workbench.quickInput.getByPlaceholder(/Words, and/).waitFor();
    await workbench.enter('"Prompt 1234"');
    await workbench.quickRows.filter({ hasText: 'Prompt 1234' }).waitFor();
    await expect.poll(() => workbench.quickRows.count()).toBe(1);
    await workbench.page.keyboard.press('Escape');
  });

  it('scroll in the timeline', async () => {
    const { workbench } = session;
    await workbench.command('Checkpoints: Open Timeline');
    const page = await workbench.webview('checkpoints-timeline .row');
    await page.locator('.row', { hasText: 'Prompt 1999' }).first().waitFor();
    await page.locator('.row', { hasText: 'Prompt 1999' }).first().click();
    await workbench.page.keyboard.press('End');
    await page.locator('.row .title').getByText('Prompt 0', { exact: true }).waitFor();
    await workbench.screenshot('many-2-timeline');
  });

  it('do not keep a new one from appearing', async () => {
    const { workbench } = session;
    await workbench.command('Checkpoints: Create Checkpoint');
    await workbench.expand(view, 'Without a session');
    await workbench.row(view, 'Manual checkpoint').waitFor();
  });

  it('are where they were in the view when it is opened as an editor', async () => {
    const { workbench } = session;
    await workbench.command('View: Close All Editors');
    await workbench.openView('Timeline');
    const narrow = await workbench.webview('body[data-placement="view"] .row');
    await narrow.locator('.row[data-key]').first().click();
    await workbench.page.keyboard.press('End');
    await narrow.locator('.row.selected', { hasText: /^\s*Prompt 0\b/ }).waitFor();
    await workbench.page.waitForTimeout(500);
    await workbench.command('Checkpoints: Open Timeline');
    const wide = await workbench.webview('body[data-placement="editor"] .row');
    await wide.locator('.row.selected', { hasText: /^\s*Prompt 0\b/ }).waitFor();
  });
});
