import { cpus, loadavg } from 'node:os';
import { many } from '../test/e2e/timeline/fixtures';
import { FixtureBackend, TimelineRig } from '../test/e2e/timeline/harness';

export interface TimelineOptions {
  rows: number;
  steps: number;
  json: boolean;
}

interface Frames {
  /** Pixels a step moves the list. */
  step: number;
  frames: number;
  /** Milliseconds from one frame to the next. */
  median: number;
  p95: number;
  worst: number;
  /** Longer than one and a half frames of a 60 Hz screen; a person sees those. */
  long: number;
  /** Milliseconds of script in a step: what the page itself adds to a frame. */
  work: { median: number; p95: number; worst: number };
}

const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;

const round = (value: number): number => Math.round(value * 100) / 100;

const summary = (values: readonly number[]): { median: number; p95: number; worst: number } => {
  const sorted = [...values].sort((a, b) => a - b);
  return {
    median: round(percentile(sorted, 0.5)),
    p95: round(percentile(sorted, 0.95)),
    worst: round(sorted.at(-1) ?? 0),
  };
};

/** The timeline page in a real browser: how smoothly it scrolls, how long it takes to open and to filter. */
export async function benchTimeline({ rows, steps, json }: TimelineOptions): Promise<void> {
  const rig = await TimelineRig.start();
  try {
    const before = performance.now();
    const { page } = await rig.open(new FixtureBackend(many(rows)), { motion: true });
    await page.locator('.row .title').first().waitFor();
    const opened = round(performance.now() - before);
    const results: Frames[] = [];
    for (const step of [40, 400, 4000]) {
      const { gaps, work } = await page.evaluate(scrollBy, { step, steps });
      results.push({
        step,
        frames: gaps.length,
        ...summary(gaps),
        long: gaps.filter((gap) => gap > 25).length,
        work: summary(work),
      });
    }
    const filtered = round(await page.evaluate(filterOnce, 'module 36'));
    const devtools = await page.context().newCDPSession(page);
    await devtools.send('HeapProfiler.collectGarbage');
    const { usedSize } = await devtools.send('Runtime.getHeapUsage');
    const heapMb = round(usedSize / 2 ** 20);
    const machine = { cpus: cpus().length, cpu: cpus()[0]?.model ?? '', load: round(loadavg()[0] ?? 0) };
    const report = { rows, machine, opened, filtered, heapMb, scrolling: results };
    process.stdout.write(json ? `${JSON.stringify(report)}\n` : text(report));
  } finally {
    await rig.stop();
  }
}

/** Runs in the page: one step of scrolling per frame, up and down again, with the time between frames. */
async function scrollBy({ step, steps }: { step: number; steps: number }): Promise<{ gaps: number[]; work: number[] }> {
  const list = document.querySelector<HTMLElement>('.list');
  const host = document.querySelector('timeline-list') as (HTMLElement & { updateComplete: Promise<unknown> }) | null;
  if (!list || !host) throw new Error('there is no list');
  const frame = (): Promise<number> => new Promise((resolve) => requestAnimationFrame(resolve));
  const gaps: number[] = [];
  const work: number[] = [];
  let direction = 1;
  let last = await frame();
  for (let index = 0; index < steps; index++) {
    const top = list.scrollTop;
    list.scrollTop = top + direction * step;
    if (list.scrollTop === top) direction = -direction;
    const start = performance.now();
    list.dispatchEvent(new Event('scroll'));
    await host.updateComplete;
    work.push(performance.now() - start);
    const now = await frame();
    gaps.push(now - last);
    last = now;
  }
  list.scrollTop = 0;
  return { gaps, work };
}

/** Runs in the page: from the last key of a filter to the list that shows it. */
async function filterOnce(text: string): Promise<number> {
  const input = document.querySelector<HTMLInputElement>('timeline-filter input');
  const host = document.querySelector('timeline-list') as (HTMLElement & { updateComplete: Promise<unknown> }) | null;
  if (!input || !host) throw new Error('there is no filter');
  input.value = text;
  const start = performance.now();
  input.dispatchEvent(new Event('input', { bubbles: true }));
  await host.updateComplete;
  await new Promise((resolve) => requestAnimationFrame(resolve));
  return performance.now() - start;
}

function text(report: {
  rows: number;
  machine: { cpus: number; cpu: string; load: number };
  opened: number;
  filtered: number;
  heapMb: number;
  scrolling: Frames[];
}): string {
  const { machine, scrolling } = report;
  return [
    `timeline page, ${report.rows} checkpoints; ${machine.cpus} x ${machine.cpu}, load ${machine.load}`,
    `opened in ${report.opened} ms, filtered in ${report.filtered} ms, heap ${report.heapMb} MB`,
    '',
    'step   frames  median    p95  worst  long   script: median    p95  worst   (ms)',
    ...scrolling.map(({ step, frames, median, p95, worst, long, work }) =>
      [
        `${step} px`.padEnd(7),
        String(frames).padStart(5),
        ...[median, p95, worst].map((value) => value.toFixed(1).padStart(7)),
        String(long).padStart(6),
        ' '.repeat(8),
        ...[work.median, work.p95, work.worst].map((value) => value.toFixed(1).padStart(7)),
      ].join(''),
    ),
    '',
  ].join('\n');
}
