import { sourceNames, sourceThings, type ImportReport } from '../imports/model';
import type { Offer } from '../imports/offers';
import { plural } from './labels';

/** The sentences of importing older programs' data. No vscode here. */

export const offerText = (offers: readonly Offer[]): string => {
  const parts = offers.map(({ from, count }) => `${plural(count, sourceThings[from])} of ${sourceNames[from]}`);
  const last = parts.pop() ?? '';
  return `Found ${parts.length === 0 ? last : `${parts.join(', ')} and ${last}`} for this folder.`;
};

export const importText = ({ from, imported, skipped, problems }: ImportReport): string => {
  const parts = [
    imported.length === 0
      ? problems.length === 0
        ? `Nothing new of ${sourceNames[from]}`
        : `Nothing of ${sourceNames[from]} could be imported`
      : `Imported ${plural(imported.length, sourceThings[from])} of ${sourceNames[from]}`,
    skipped.length > 0 ? `${skipped.length} left out` : '',
    problems.length > 0 ? plural(problems.length, 'problem') : '',
  ];
  // They have no checkpoint yet, so the tree does not show them.
  const where = from === 's4' && imported.length > 0 ? ' OpenCode lists what came among its sessions.' : '';
  return `${parts.filter((part) => part !== '').join(', ')}.${where}`;
};

/** Everything, for whoever wants to know: which, and why not. */
export const importPage = (reports: readonly ImportReport[]): string =>
  [
    '# What was imported',
    ...reports.flatMap((report) => [
      '',
      `## ${sourceNames[report.from]}`,
      '',
      report.path,
      ...section(
        'Imported',
        report.imported.map(({ title, createdAt }) => `${title} (${createdAt.slice(0, 10)})`),
      ),
      ...section(
        'Left out',
        report.skipped.map(({ item, reason }) => `${item}: ${reason}`),
      ),
      ...section(
        'Problems',
        report.problems.map(({ item, message }) => `${item}: ${message}`),
      ),
    ]),
    '',
  ].join('\n');

const section = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : ['', `### ${title}`, '', ...lines.map((line) => `- ${line.replace(/\s+/g, ' ')}`)];
