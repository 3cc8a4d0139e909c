/** Slash commands are prompts: the agent does what they say with its tools. */

export interface SlashCommand {
  name: string;
  description: string;
  template: string;
}

export const slashCommands: readonly SlashCommand[] = [
  {
    name: 'checkpoint',
    description: 'Checkpoints: create NAME | list | diff FILE | restore REF-or-FILE | clear | stats',
    template: [
      'The user typed: /checkpoint $ARGUMENTS',
      '',
      'Do exactly this with your checkpoint tools, nothing else, and show the answer:',
      '- create NAME: checkpoint_create with that name ("checkpoint" when none is given)',
      '- list, or nothing: checkpoint_list',
      '- diff FILE: checkpoint_diff with path FILE and nothing else; without FILE: checkpoint_diff from latest',
      '- restore REF: checkpoint_restore; REF is an id, a name, latest or latest~N. If it is a file: checkpoint_restore with path FILE and nothing else',
      '- clear: delete nothing; tell the user to run: opencode-checkpoints clear',
      '- stats: checkpoint_stats',
    ].join('\n'),
  },
  {
    name: 'rewind',
    description: 'Take files and conversation back to an earlier checkpoint',
    template: [
      'The user typed: /rewind $ARGUMENTS',
      '',
      'If a checkpoint is named there, call checkpoint_restore with it. If a number N is there, use latest~N. If nothing is there, call',
      'checkpoint_list, show the newest ten, and ask which one to go back to. Do nothing else.',
    ].join('\n'),
  },
];
