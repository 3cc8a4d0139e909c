import type { Config } from '../core/config';
import { CheckpointsError } from '../core/errors';
import { shorten } from '../core/text';
import { asArguments } from './arguments';
import type { CallContext, Toolbox, ToolSpec } from './tool-spec';
import { backupTools } from './tools-backup';
import { deleteTool } from './tools-delete';
import { pointTools } from './tools-points';
import { restoreTool } from './tools-restore';
import { taskTools } from './tools-task';

export function allTools(box: Toolbox): ToolSpec[] {
  return [...pointTools(box), deleteTool(box), restoreTool(box), ...taskTools(box), ...backupTools(box)];
}

/** The setting `tools`. */
export function toolsFor(setting: Config['tools'], box: Toolbox): ToolSpec[] {
  if (setting === 'none') return [];
  return allTools(box).filter((tool) => setting === 'all' || tool.core);
}

/** Errors become sentences a model can act on; what is unexpected stays an error with its own words. */
export async function callTool(tool: ToolSpec, args: unknown, call: CallContext): Promise<string> {
  try {
    return await tool.run(asArguments(args), call);
  } catch (error) {
    if (!CheckpointsError.is(error)) throw error;
    const prefix = tool.name === 'checkpoint_restore' ? 'Restore failed: ' : '';
    throw new Error(prefix + [sentence(error.message), hintFor(error)].join(' ').trim(), { cause: error });
  }
}

/** A model that sent a book is not sent it back. */
const messageLength = 2000;

function sentence(message: string): string {
  const text = shorten(message, messageLength);
  return /[.!?…)]$/.test(text) ? text : `${text}.`;
}

function hintFor(error: CheckpointsError): string {
  if (error.reason === 'session-busy' && error.details?.['sessions'] !== undefined)
    return 'Wait until that work has ended, or ask the user to stop it.';
  return hints[error.reason] ?? '';
}

const hints: Partial<Record<CheckpointsError['reason'], string>> = {
  'unknown-reference': 'Call checkpoint_list to see ids and names.',
  'no-conversation': 'Use scope "files".',
  'no-task': 'Use scope "files".',
  'server-unreachable':
    'Use scope "files", or ask the user to restore it in VS Code or by opencode-checkpoints restore.',
  'session-busy': 'Use scope "files", or name an earlier checkpoint.',
  'store-broken': 'Ask the user to run opencode-checkpoints doctor --repair, or Run Doctor in VS Code.',
  'refused-root': 'Only project folders have checkpoints: go on without them.',
  'git-missing': 'git must be installed for checkpoints.',
};
