import type { ToolSpec } from './tool-spec';

/** Slash commands are prompts: the agent does what they say with its tools. The first line is the title of their turn. */

export interface SlashCommand {
  name: string;
  description: string;
  template: string;
}

/** What each word of `/checkpoint` needs to be offered, and what it tells the agent: with that tool, and without it. */
const words: ReadonlyArray<{ tool: string; usage: string; steps: string; otherwise?: string }> = [
  {
    tool: 'checkpoint_create',
    usage: 'create NAME',
    steps: 'create NAME: checkpoint_create with that name ("checkpoint" when none is given)',
  },
  { tool: 'checkpoint_list', usage: 'list', steps: 'list, or nothing: checkpoint_list' },
  {
    tool: 'checkpoint_diff',
    usage: 'diff FILE',
    // The newest point is the one before this very command.
    steps:
      'diff FILE: checkpoint_diff with path FILE and nothing else; without FILE: checkpoint_diff from latest~1 (from latest if that goes too far back)',
  },
  {
    tool: 'checkpoint_restore',
    usage: 'restore REF-or-FILE',
    steps:
      'restore REF: checkpoint_restore; REF is an id, a name or latest~N; for latest use latest~1, for the newest is the point before this command. If it is a file: checkpoint_restore with path FILE and nothing else',
  },
  {
    tool: 'checkpoint_delete',
    usage: 'clear',
    steps: 'clear: checkpoint_delete with all true and nothing else',
    otherwise: 'clear: delete nothing; tell the user to run Clear Session… in VS Code, or opencode-checkpoints clear',
  },
  { tool: 'checkpoint_stats', usage: 'stats', steps: 'stats: checkpoint_stats' },
];

/** Those that can be done with the tools that are offered. */
export function slashCommands(tools: ReadonlyArray<Pick<ToolSpec, 'name'>>): SlashCommand[] {
  if (tools.length === 0) return [];
  const offered = words.flatMap(({ tool, usage, steps, otherwise }) => {
    const said = tools.some(({ name }) => name === tool) ? steps : otherwise;
    return said === undefined ? [] : [{ usage, steps: said }];
  });
  return [
    {
      name: 'checkpoint',
      description: `Checkpoints: ${offered.map(({ usage }) => usage).join(' | ')}`,
      template: [
        '/checkpoint $ARGUMENTS',
        '',
        'The user typed this command. Do exactly this with your checkpoint tools, nothing else, and show the answer:',
        ...offered.map(({ steps }) => `- ${steps}`),
      ].join('\n'),
    },
    {
      name: 'rewind',
      description: 'Take files and conversation back to an earlier checkpoint',
      template: [
        '/rewind $ARGUMENTS',
        '',
        'The user typed this command. If a checkpoint is named there, call checkpoint_restore with it. If a number N is there, use latest~N; for latest',
        'use latest~1, for the newest is the point before this command.',
        'If nothing is there, call checkpoint_list, show the newest ten, and ask which one to go back to. Do nothing else.',
      ].join('\n'),
    },
  ];
}
