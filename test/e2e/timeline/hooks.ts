import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { afternoon, type Afternoon } from './fixtures';
import { FixtureBackend, TimelineRig, type OpenOptions, type OpenPage } from './harness';

export interface TimelineTests {
  /** Where the built page is. */
  folder(): string;
  /** One page at a time. */
  open(backend: FixtureBackend, options?: OpenOptions): Promise<OpenPage>;
  /** The page with the rows of an afternoon. */
  showAfternoon(options?: OpenOptions): Promise<OpenPage & Afternoon>;
}

/** After each test its page must have broken no rule of its policy and thrown no error. */
export function timelineTests(): TimelineTests {
  let rig: TimelineRig;
  let shown: OpenPage | null = null;
  beforeAll(async () => {
    rig = await TimelineRig.start();
  });
  afterAll(async () => {
    await rig.stop();
  });
  afterEach(async () => {
    const last = shown;
    shown = null;
    await last?.close();
    expect(last?.violations ?? []).toEqual([]);
    expect(last?.errors ?? []).toEqual([]);
  });
  const open: TimelineTests['open'] = async (backend, options = {}) => (shown = await rig.open(backend, options));
  return {
    folder: () => rig.folder,
    open,
    async showAfternoon(options) {
      const data = afternoon();
      const page = await open(new FixtureBackend(data.checkpoints, data.changes), options);
      await page.page.waitForSelector('.row');
      return Object.assign(page, data);
    },
  };
}
