import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { TimelineRig, type FixtureBackend, type OpenOptions, type OpenPage } from './harness';

export interface TimelineTests {
  /** Where the built page is. */
  folder(): string;
  /** One page at a time. */
  open(backend: FixtureBackend, options?: OpenOptions): Promise<OpenPage>;
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
  return {
    folder: () => rig.folder,
    open: async (backend, options = {}) => (shown = await rig.open(backend, options)),
  };
}
