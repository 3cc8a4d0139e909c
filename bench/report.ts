import type { Failure, Gate, Ledger } from './ledger';
import type { Machine } from './machine';
import { operations } from './names';
import type { Options } from './options';
import type { Ratio } from './targets';

export interface Result {
  operation: string;
  engine: string;
  /** Median. */
  ms: number;
  samples: number;
  /** False when the engine failed at it, or left the files wrong. */
  correct: boolean;
}

/** The one document of `--json`. */
export interface Report {
  files: number;
  reps: number;
  seed: number;
  machine: Machine;
  results: Result[];
  sizes: Array<{ operation: string; engine: string; bytes: number }>;
  ratios: Ratio[];
  gates: Gate[];
  failures: Failure[];
  notes: string[];
}

export interface ReportInput {
  options: Options;
  machine: Machine;
  ledger: Ledger;
  ratios: Ratio[];
  notes: string[];
}

export function makeReport({ options, machine, ledger, ratios, notes }: ReportInput): Report {
  const results: Result[] = [];
  for (const operation of Object.values(operations))
    for (const engine of new Set(ledger.samples.filter((s) => s.operation === operation).map((s) => s.engine))) {
      const samples = ledger.samples.filter((s) => s.operation === operation && s.engine === engine);
      const ms = ledger.median(operation, engine) ?? 0;
      results.push({
        operation,
        engine,
        ms: round(ms),
        samples: samples.length,
        correct: ledger.correct(operation, engine),
      });
    }
  return {
    files: options.files,
    reps: options.reps,
    seed: options.seed,
    machine,
    results,
    sizes: medianSizes(ledger),
    ratios: ratios.map((ratio) => ({ ...ratio, ratio: round(ratio.ratio), target: round(ratio.target) })),
    gates: ledger.gates,
    failures: ledger.failures,
    notes,
  };
}

function medianSizes(ledger: Ledger): Report['sizes'] {
  const seen = new Map(ledger.sizes.map((size) => [`${size.operation}/${size.engine}`, size]));
  return [...seen.values()].map(({ operation, engine }) => ({
    operation,
    engine,
    bytes: Math.round(ledger.bytes(operation, engine) ?? 0),
  }));
}

const round = (value: number): number => Math.round(value * 1000) / 1000;

/** The same for people, in Markdown. */
export function printable(report: Report, engines: readonly string[]): string {
  const { machine } = report;
  const lines = [
    '',
    `${report.files} files, ${report.reps} repetitions, seed ${report.seed}; ${machine.cpu}, ${machine.cores} cores, ` +
      `${machine.memoryGb} GB, ${machine.system}; git ${machine.git}, Node ${machine.node}; ` +
      `load ${machine.loadBefore.join(' ')} before, ${machine.loadAfter.join(' ')} after`,
    '',
    'Median ms (! = wrong or failed)',
    ...table(['operation', ...engines], timeRows(report, engines)),
    '',
    'Sizes',
    ...table(
      ['what', 'engine', 'MB'],
      report.sizes.map((size) => [size.operation, size.engine, (size.bytes / 1e6).toFixed(2)]),
    ),
    '',
    'Ratios (how many times better ours is)',
    ...table(
      ['operation', 'against', 'ratio', 'target', ''],
      report.ratios.map((r) => [r.operation, r.peer, figures(r.ratio), figures(r.target), r.met ? 'met' : 'MISSED']),
    ),
    '',
    'Gates',
    ...table(
      ['gate', ''],
      report.gates.map((gate) => [gate.name, gate.ok ? 'ok' : `FAILED ${gate.detail ?? ''}`]),
    ),
  ];
  if (report.failures.length > 0) {
    const rows = report.failures.map((failure) => [
      failure.engine,
      failure.operation,
      failure.message.split('\n')[0] ?? '',
    ]);
    lines.push('', 'Failures', ...table(['engine', 'operation', 'what happened'], rows));
  }
  for (const note of report.notes) lines.push('', note);
  return lines.join('\n') + '\n';
}

function timeRows(report: Report, engines: readonly string[]): string[][] {
  const names = [...new Set(report.results.map((result) => result.operation))];
  return names.map((operation) => [
    operation,
    ...engines.map((engine) => {
      const found = report.results.find((result) => result.operation === operation && result.engine === engine);
      return found === undefined ? '' : figures(found.ms) + (found.correct ? '' : ' !');
    }),
  ]);
}

/** Three figures are all that a shared machine gives. */
const figures = (value: number): string =>
  value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((cell, at) => Math.max(cell.length, ...rows.map((row) => (row[at] ?? '').length), 3));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join(' | ')} |`;
  return [line(head), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...rows.map(line)];
}
