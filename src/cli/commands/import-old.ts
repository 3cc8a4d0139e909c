import { existsSync } from 'node:fs';
import path from 'node:path';
import { loadConfig, storeHome } from '../../core/config';
import { CheckpointsError } from '../../core/errors';
import type { SessionGateway } from '../../core/sessions';
import { sourceNames, sources, sourceThings, type ImportReport, type Source } from '../../imports/model';
import type { Offer } from '../../imports/offers';
import type { ImportNeeds } from '../../imports/run';
import type { Invocation, Opened, Reply } from '../command';
import type { Output } from '../output';
import { when } from '../views/checkpoint';
import { plural } from '../views/plural';
import { visible } from '../visible';

/** In a build it lies beside the bundle. */
const wasm = { file: path.join(__dirname, 'sql-wasm.wasm') };

export interface ImportFlags {
  dryRun?: boolean;
}

export const isSource = (name: string): name is Source => (sources as readonly string[]).includes(name);

/** `import --from`: what older programs kept for this workspace. A path is read from `--cwd`. */
export async function importOld(
  invocation: Invocation,
  from: Source,
  given: string | undefined,
  { dryRun }: ImportFlags,
): Promise<Reply> {
  const { workspace } = await invocation.openAll(dryRun ? {} : { begins: 'late' });
  const place = given === undefined ? undefined : path.resolve(invocation.globals.cwd, given);
  invocation.output.progress(`Reading what ${sourceNames[from]} kept…`);
  const report =
    from === 's4'
      ? await importSessions(invocation, workspace, place, dryRun)
      : await importCheckpoints(invocation, workspace, from, place, dryRun);
  return { json: report, text: (output) => reportView(report, output) };
}

async function importCheckpoints(
  invocation: Invocation,
  workspace: Opened['workspace'],
  from: Exclude<Source, 's4'>,
  place: string | undefined,
  dryRun?: boolean,
): Promise<ImportReport> {
  const { runImport } = await import('../../imports/run');
  return runImport(
    { from, path: place, dryRun },
    { workspace, wasm, gateway: () => serverIfAny(invocation, workspace) },
  );
}

/** Titles and messages are nice to have: the import goes on without them, and a restore finds them by then. */
async function serverIfAny(invocation: Invocation, workspace: Opened['workspace']): Promise<SessionGateway | null> {
  try {
    return await invocation.sessions(workspace);
  } catch (error) {
    if (!CheckpointsError.is(error)) throw error;
    if (!invocation.globals.json) invocation.output.note(`Imported without asking OpenCode: ${error.message}`);
    return null;
  }
}

async function importSessions(
  invocation: Invocation,
  workspace: Opened['workspace'],
  given: string | undefined,
  dryRun?: boolean,
): Promise<ImportReport> {
  const [{ importSessions: run }, { s4Default }, { BackupService }] = await Promise.all([
    import('../../imports/s4'),
    import('../../imports/s4-places'),
    import('../../backup/service'),
  ]);
  const place = given ?? s4Default();
  if (place === null)
    throw new CheckpointsError(
      'invalid-argument',
      `Nothing of ${sourceNames.s4} is at its usual places. Name the folder.`,
    );
  const backup = new BackupService({
    root: workspace.root,
    home: storeHome(),
    config: () => loadConfig(workspace.root, workspace.folder).config,
    gateway: () => invocation.sessions(workspace),
  });
  try {
    return await run(
      { path: place, named: given !== undefined, dryRun, signal: invocation.signal },
      workspace.root,
      backup,
    );
  } finally {
    await backup.close();
  }
}

async function reportView({ imported, skipped, problems, dryRun }: ImportReport, output: Output): Promise<string> {
  const { table } = await import('../table');
  const { style } = output;
  const rows = imported.map(({ id, title, createdAt }) => [when(createdAt), id, title]);
  const head = [
    { header: 'MADE', style: style.dim },
    { header: 'ID', style: style.cyan },
    { header: 'TITLE', flexible: true },
  ];
  return [
    rows.length === 0 ? '' : table(head, rows, { width: output.width, header: style.bold }),
    ...skipped.map(({ item, reason }) => `${style.dim('left out')}  ${visible(item)}: ${visible(reason)}\n`),
    ...problems.map(({ item, message }) => `${style.yellow('problem ')}  ${visible(item)}: ${visible(message)}\n`),
    `${imported.length} ${dryRun ? 'to import' : 'imported'}, ${skipped.length} left out, ${plural(problems.length, 'problem')}.\n`,
  ].join('');
}

/** For people at a terminal: what could be imported. Once for each kind, unless they ask for it. */
export async function oldDataNote(workspace: Opened['workspace'], again: boolean): Promise<string | null> {
  const { findOldData, Offered } = await import('../../imports/offers');
  const offered = new Offered(workspace.folder);
  const needs: ImportNeeds = { workspace, wasm };
  const offers = await findOldData(needs, again ? new Set() : await offered.read());
  if (offers.length === 0) return null;
  // A folder without a store gets none by being told.
  if (!again && existsSync(workspace.folder)) await offered.add(offers);
  return offers.map(offerLine).join('\n');
}

const offerLine = ({ from, count, path: place }: Offer): string =>
  `${plural(count, sourceThings[from])} of ${sourceNames[from]} can be imported from ${place}: \`opencode-checkpoints import --from ${from}\``;
