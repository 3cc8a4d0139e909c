import { describe, expect, it } from 'vitest';
import { CheckpointsError } from '../../src/core/errors';
import { optionalCount, optionalScope, requiredText } from '../../src/plugin/arguments';
import { Reporter } from '../../src/plugin/reporter';
import type { Toolbox } from '../../src/plugin/tool-spec';
import { allTools, toolsFor } from '../../src/plugin/tools';

/** Descriptions and schemas need nothing of it. */
const box = {} as Toolbox;

describe("the agent's tools", () => {
  it('are the ones that agents know, in at most 6 KB of schema', () => {
    const tools = allTools(box);
    expect(tools.map(({ name }) => name).sort()).toEqual([
      'checkpoint_clear',
      'checkpoint_create',
      'checkpoint_delete',
      'checkpoint_diff',
      'checkpoint_list',
      'checkpoint_load',
      'checkpoint_load_snapshot',
      'checkpoint_restore',
      'checkpoint_restore_snapshot',
      'checkpoint_save',
      'checkpoint_stats',
      'checkpoint_status',
      'session_backup_restore',
      'session_backup_status',
      'session_backup_sync',
    ]);
    const schema = tools.map(({ name, description, input }) => ({ name, description, parameters: input }));
    expect(Buffer.byteLength(JSON.stringify(schema))).toBeLessThanOrEqual(6 * 1024);
    for (const { input } of tools) for (const name of input.required) expect(input.properties).toHaveProperty(name);
  });

  it('are offered as the setting says', () => {
    expect(toolsFor('none', box)).toEqual([]);
    expect(toolsFor('core', box)).toHaveLength(4);
    expect(toolsFor('all', box)).toHaveLength(15);
  });
});

describe('arguments of a model', () => {
  it.each([
    [{}, undefined],
    [{ scope: '' }, undefined],
    [{ scope: 'task, files' }, ['files', 'task']],
    [{ scope: ['conversation'] }, ['conversation']],
  ])('scope %j', (args, scope) => {
    expect(optionalScope(args, 'scope')).toEqual(scope);
  });

  it.each([
    () => optionalScope({ scope: 'everything' }, 'scope'),
    () => optionalScope({ scope: 5 }, 'scope'),
    () => requiredText({ name: '  ' }, 'name', 'x'),
    () => requiredText({ name: ['a'] }, 'name', 'x'),
    () => optionalCount({ limit: 0 }, 'limit', 9),
    () => optionalCount({ limit: 'many' }, 'limit', 9),
  ])('refuses what it cannot use (%#)', (read) => {
    expect(read).toThrow(CheckpointsError);
  });

  it('takes numbers as models write them', () => {
    expect(optionalCount({ limit: '7' }, 'limit', 9)).toBe(7);
    expect(optionalCount({ limit: 70 }, 'limit', 9)).toBe(9);
  });
});

describe('what went wrong', () => {
  it('is shown once per kind, and again after it had worked', () => {
    const shown: string[] = [];
    const logged: string[] = [];
    const reporter = new Reporter({
      show: (message) => shown.push(message),
      log: (_level, message) => logged.push(message),
    });
    const full = new CheckpointsError('disk-full', 'The disk is full.');
    reporter.failed('Capture', full);
    reporter.failed('Capture', full);
    reporter.failed('Capture', new CheckpointsError('busy', 'Busy.'));
    expect(shown).toEqual(['Capture: The disk is full.', 'Capture: Busy.']);
    expect(logged).toHaveLength(3);
    expect(reporter.problems).toHaveLength(2);
    reporter.recovered('Capture');
    expect(reporter.problems).toEqual([]);
    reporter.failed('Capture', full);
    expect(shown).toHaveLength(3);
  });
});
