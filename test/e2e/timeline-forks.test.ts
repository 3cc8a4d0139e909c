import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { afternoon, now } from './timeline/fixtures';
import { FixtureBackend, type OpenPage } from './timeline/harness';
import { timelineTests } from './timeline/hooks';

/** A fork is on the timeline as soon as it is there, not only when something was done in it. */
const timeline = timelineTests();

const fork = {
  id: 'ses_new',
  title: 'Login, this time with a queue',
  parent: 'ses_login',
  createdAt: now - 60_000,
} as const;

async function shot(shown: OpenPage, name: string): Promise<void> {
  const folder = process.env['TEST_ARTIFACTS'];
  if (folder) await shown.page.screenshot({ path: join(folder, `timeline-${name}.png`) });
}

describe('a fork without a checkpoint', () => {
  it.each(['dark', 'light', 'hc-black'] as const)(
    'begins a lane at the point it was forked at, in %s',
    async (theme) => {
      const { checkpoints, changes, forkedAt } = afternoon();
      const backend = new FixtureBackend(checkpoints, changes);
      const shown = await timeline.open(backend, { theme });
      await shown.page.waitForSelector('.row');
      const begun = shown.page.locator('[data-key="session:ses_new"]');
      expect(await begun.count()).toBe(0);
      backend.sessions = [{ ...fork, forkedFrom: forkedAt.id }];
      backend.change();
      await begun.waitFor();
      expect(await begun.innerText()).toContain('no checkpoint of its own yet');
      expect(await shown.page.locator('.point-begin').count()).toBe(1);
      // Another view points at it, also when a filter hides it.
      await shown.page.locator('input').fill('trigger:manual');
      await begun.waitFor({ state: 'detached' });
      shown.connection.revealSession('w1', 'ses_new');
      await expect.poll(() => begun.getAttribute('aria-selected')).toBe('true');
      await shown.page.locator('.detail h2').filter({ hasText: fork.title }).waitFor();
      await shot(shown, `fork-${theme}`);
      await shown.page.getByRole('button', { name: 'Open Session' }).click();
      await expect.poll(() => backend.actions).toEqual([{ type: 'openSession', session: 'ses_new' }]);
      // From the fork to where it comes from, by keyboard back again.
      await shown.page.locator('.fold-entry').click();
      await expect.poll(() => shown.page.locator('.row.selected .title').innerText()).toBe(forkedAt.title);
      backend.sessions = [{ ...fork, forkedFrom: forkedAt.id, state: 'busy' }];
      backend.change();
      await begun.locator('.codicon-loading').waitFor();
      // Deleted before anything was done in it: gone.
      backend.sessions = [{ id: fork.id, state: 'deleted' }];
      backend.change();
      await begun.waitFor({ state: 'detached' });
    },
  );

  it('is named in the side bar, too, where the other rows leave their session out', async () => {
    const { checkpoints, changes, forkedAt } = afternoon();
    const backend = new FixtureBackend(checkpoints, changes);
    backend.sessions = [{ ...fork, forkedFrom: forkedAt.id }];
    const { page } = await timeline.open(backend, { width: 300, placement: 'view' });
    const begun = page.locator('[data-key="session:ses_new"]');
    await begun.waitFor();
    const name = await begun.locator('.chip.session').boundingBox();
    expect(name?.width).toBeGreaterThan(80);
    expect((name?.x ?? 300) + (name?.width ?? 0)).toBeLessThan(300);
  });
});
