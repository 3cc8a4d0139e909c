import { describe, expect, it } from 'vitest';
import nls from '../../package.nls.json';
import { CheckpointsError } from '../../src/core/errors';
import { optionalCount, optionalScope, requiredText } from '../../src/plugin/arguments';
import { Reporter } from '../../src/plugin/reporter';
import type { Checkpoint } from '../../src/core/model';
import { ownTools } from '../../src/core/triggers';
import { slashCommands } from '../../src/plugin/commands';
import type { CallContext, Toolbox } from '../../src/plugin/tool-spec';
import { allTools, callTool, toolsFor } from '../../src/plugin/tools';
import { Records } from './records';

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
    expect(new Set(tools.map(({ name }) => name))).toEqual(ownTools);
    const schema = tools.map(({ name, description, input }) => ({ name, description, parameters: input }));
    expect(Buffer.byteLength(JSON.stringify(schema))).toBeLessThanOrEqual(6 * 1024);
    for (const { input } of tools) for (const name of input.required) expect(input.properties).toHaveProperty(name);
  });

  it('are offered as the setting says', () => {
    expect(toolsFor('none', box)).toEqual([]);
    expect(toolsFor('core', box)).toHaveLength(4);
    expect(toolsFor('all', box)).toHaveLength(15);
    const told = nls['setting.tools.core'].match(/checkpoint_[a-z]+/g) ?? [];
    expect(told.sort()).toEqual(
      toolsFor('core', box)
        .map(({ name }) => name)
        .sort(),
    );
  });

  it('are the only ones that the slash commands speak of', () => {
    const said = (setting: 'all' | 'core' | 'none'): string[] => {
      const templates = slashCommands(toolsFor(setting, box)).map(({ template }) => template);
      return [...new Set(templates.join('\n').match(/checkpoint_[a-z_]+/g) ?? [])].sort();
    };
    expect(said('all')).toContain('checkpoint_stats');
    expect(said('core')).toEqual(['checkpoint_create', 'checkpoint_diff', 'checkpoint_list', 'checkpoint_restore']);
    expect(slashCommands(toolsFor('none', box))).toEqual([]);
  });

  it('do not take the point before a slash command for what its user calls the latest', () => {
    const ofRestore = slashCommands(toolsFor('core', box)).map(({ template }) => template);
    for (const template of ofRestore) expect(template).toMatch(/for latest\s+use latest~1/);
  });
});

describe('what a tool refuses', () => {
  const session = { id: 'ses_1', messageId: null, messageCount: 0, title: null, parent: null };
  const run = (name: string, args: Record<string, unknown>, found?: Checkpoint): Promise<string> => {
    const tool = toolsFor('all', {
      companion: { open: () => Promise.resolve({ workspace: { resolve: () => Promise.resolve(found) } }) },
      sessions: { rootOf: (id: string) => Promise.resolve(id) },
    } as unknown as Toolbox).find((one) => one.name === name);
    return callTool(tool!, args, { session: 'ses_1' } as CallContext);
  };

  it.each([
    ['pinned by the user', { pinned: true }],
    ['the way back from a restore', { trigger: 'restore' as const }],
  ])('to delete what is %s', async (why, change) => {
    const found = { ...new Records().next('agent'), session, ...change };
    await expect(run('checkpoint_delete', { id: found.id }, found)).rejects.toThrow(why);
  });

  it('is a book for a description, which it does not send back', async () => {
    const long = 'y'.repeat(3_000_000);
    await expect(run('checkpoint_create', { name: 'x', description: long })).rejects.toThrow(
      /^"description" has at most 10000 characters; this one has 3000000\.$/,
    );
    const error = await run('checkpoint_create', { name: [long] }).catch((reason: unknown) => reason);
    expect(String(error).length).toBeLessThan(2100);
  });

  it('is a version of the task that only the file format has', async () => {
    const given: unknown[] = [];
    const box = {
      companion: {
        open: () =>
          Promise.resolve({
            task: {
              save: (_: unknown, patch: unknown) => {
                given.push(patch);
                return Promise.resolve({ task: {}, updatedAt: '', warnings: [], clamped: [] });
              },
            },
          }),
      },
      sessions: { throughStep: () => Promise.resolve({}) },
      memory: { saved: () => undefined },
    } as unknown as Toolbox;
    const save = allTools(box).find(({ name }) => name === 'checkpoint_save');
    await callTool(save!, { title: 'T', version: 9 }, {} as CallContext);
    expect(given).toEqual([{ title: 'T' }]);
  });

  it('is told also where there is no task: a file that cannot be read', async () => {
    const warnings = ['checkpoint.json cannot be read'];
    const task = { load: () => Promise.resolve({ live: null, warnings }) };
    const load = allTools({ companion: { open: () => Promise.resolve({ task }) } } as unknown as Toolbox).find(
      ({ name }) => name === 'checkpoint_load',
    );
    expect(JSON.parse(await callTool(load!, {}, {} as CallContext))).toEqual({ exists: false, warnings });
  });

  it('is told with the snapshots that there are, those with a name first, and not with hundreds of them', async () => {
    const names = [...Array.from({ length: 60 }, (_, i) => `auto-${1_700_000_000_000 + i}`), 'the plan'];
    const task = {
      findSave: () =>
        Promise.reject(new CheckpointsError('unknown-reference', 'None', { details: { available: names } })),
    };
    const load = allTools({ companion: { open: () => Promise.resolve({ task }) } } as unknown as Toolbox).find(
      ({ name }) => name === 'checkpoint_load_snapshot',
    );
    const answer = JSON.parse(await callTool(load!, { name: 'x' }, {} as CallContext)) as { available: string[] };
    expect(answer).toMatchObject({ error: 'Snapshot not found', name: 'x', more: 11 });
    expect(answer.available).toEqual(['the plan', ...names.slice(0, 49)]);
  });

  it('is told in sentences', async () => {
    const tool = {
      ...toolsFor('all', box)[0]!,
      run: () => Promise.reject(new CheckpointsError('no-task', 'It has none')),
    };
    await expect(callTool(tool, {}, {} as CallContext)).rejects.toThrow('It has none. Use scope "files".');
  });
});

describe('arguments of a model', () => {
  it.each([
    [{}, undefined],
    [{ scope: '' }, undefined],
    [{ scope: [] }, undefined],
    [{ scope: ' , ' }, undefined],
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
  const told = (already = new Map<string, number>()): { reporter: Reporter; shown: string[]; logged: string[] } => {
    const [shown, logged]: string[][] = [[], []];
    const voice = {
      show: (message: string) => shown!.push(message),
      log: (level: string, message: string) => logged!.push(`${level}: ${message}`),
    };
    return { reporter: new Reporter(voice, already), shown: shown!, logged: logged! };
  };
  const full = new CheckpointsError('disk-full', 'The disk is full.');
  const broken = new CheckpointsError('store-broken', 'It is damaged.');
  const busy = new CheckpointsError('busy', 'Busy.');

  it('is shown and logged once per kind, and again after it had worked', () => {
    const { reporter, shown, logged } = told();
    for (const error of [busy, busy, new CheckpointsError('timeout', 'Late.')]) reporter.failed('Capture', error);
    expect(shown).toEqual(['Capture: Busy.', 'Capture: Late.']);
    expect(logged).toEqual(['error: Capture: Busy.', 'error: Capture: Late.']);
    expect(reporter.problems).toHaveLength(2);
    reporter.recovered('Capture');
    expect(reporter.problems).toEqual([]);
    reporter.failed('Capture', busy);
    expect(shown).toHaveLength(3);
  });

  it('is told once where it concerns the whole store, whoever meets it, with the way out', () => {
    const { reporter, shown, logged } = told();
    for (const what of ['Before the turn', 'Before the tool', 'The task']) reporter.failed(what, full);
    expect(shown).toEqual([
      expect.stringMatching(
        /^Before the turn: The disk is full\. Free some space.*, or Clean Up Store in VS Code, give/,
      ),
    ]);
    expect(logged).toHaveLength(1);
    expect(reporter.problems).toHaveLength(1);
    reporter.failed('Before the tool', busy);
    reporter.storeWorks('scan');
    expect(logged.at(-1)).toBe('info: Checkpoints are made again; 3 failed meanwhile.');
    expect(reporter.problems).toEqual(['Before the tool: Busy.']);
    reporter.failed('Before the tool', full);
    expect(shown).toHaveLength(3);
  });

  it('is told once where OpenCode runs in no project at all', () => {
    const { reporter, shown } = told();
    const home = new CheckpointsError('refused-root', '/home/me cannot be a workspace: it is your home folder.');
    for (const what of ['Before the turn', 'The task', 'Before the tool']) reporter.failed(what, home);
    expect(shown).toEqual([expect.stringMatching(/home folder\. Start OpenCode in a project folder/)]);
  });

  it('is not news each time only one of the two ways of looking at files fails', () => {
    const { reporter, shown } = told();
    for (let round = 0; round < 3; round++) {
      reporter.failed('Before the turn', full);
      reporter.storeWorks('paths');
      reporter.failed('Before the tool', busy, 'scan');
      reporter.recovered('Before the tool/paths');
    }
    reporter.storeWorks('scan');
    for (let round = 0; round < 3; round++) {
      reporter.failed('Before the tool', broken, 'paths');
      reporter.storeWorks('scan');
    }
    expect(shown.map((text) => text.slice(0, 35))).toEqual([
      'Before the turn: The disk is full. ',
      'Before the tool: Busy.',
      'Before the tool: It is damaged. Run',
    ]);
    expect(reporter.problems).toEqual([expect.stringContaining('Busy'), expect.stringContaining('damaged')]);
    reporter.storeWorks('paths');
    expect(reporter.problems).toEqual([expect.stringContaining('Busy')]);
  });

  it('is not told again by a plugin that was loaded anew, until it had worked', () => {
    const process = new Map<string, number>();
    told(process).reporter.failed('Before the turn', full);
    const { reporter, shown } = told(process);
    reporter.failed('Before the turn', full);
    expect([shown, reporter.problems.length]).toEqual([[], 1]);
    const third = told(process);
    third.reporter.storeWorks('scan');
    expect(third.logged).toEqual(['info: Checkpoints are made again; 2 failed meanwhile.']);
    third.reporter.failed('Before the turn', full);
    expect(third.shown).toHaveLength(1);
  });
});
