import { describe, expect, it } from 'vitest';
import { absolutePaths, callPolicy, isWanted, patchPaths } from '../../src/core/triggers';

describe('which tool calls need a checkpoint', () => {
  it.each([
    ['write', { filePath: 'a.txt', content: 'x' }, { kind: 'paths', paths: ['a.txt'] }],
    ['write', { path: '/abs/a.txt', content: 'x' }, { kind: 'paths', paths: ['/abs/a.txt'] }],
    ['edit', { filePath: 'sub/b.txt' }, { kind: 'paths', paths: ['sub/b.txt'] }],
    ['edit', { filePath: 7 }, { kind: 'scan' }],
    ['write', null, { kind: 'scan' }],
    ['apply_patch', { patchText: '*** Begin Patch\n*** Add File: n.txt\n+x' }, { kind: 'paths', paths: ['n.txt'] }],
    ['patch', { patchText: 'nothing a patch would say' }, { kind: 'scan' }],
    ['bash', { command: 'ls' }, { kind: 'scan' }],
    ['shell', { command: 'rm -rf x' }, { kind: 'scan' }],
    ['execute', { code: 'tools.write()' }, { kind: 'scan' }],
    ['some_mcp_tool', { path: 'looks/like/a/path' }, { kind: 'scan' }],
    ['read', { filePath: 'a.txt' }, { kind: 'none' }],
    ['task', { prompt: 'x' }, { kind: 'none' }],
    ['subagent', { prompt: 'x' }, { kind: 'none' }],
    ['todowrite', { todos: [] }, { kind: 'none' }],
    ['checkpoint_restore', { checkpoint: 'latest' }, { kind: 'none' }],
    ['session_backup_sync', {}, { kind: 'none' }],
    ['checkpointer', {}, { kind: 'scan' }],
    ['checkpoint_deploy', {}, { kind: 'scan' }],
  ])('%s %j', (tool, input, policy) => {
    expect(callPolicy(tool, input)).toEqual(policy);
  });

  it('finds every file of a patch once, whatever the line ends', () => {
    const patch = [
      '*** Begin Patch',
      '*** Update File: a b.txt ',
      '*** Move to: c.txt',
      '@@',
      '-*** Add File: not a header of ours, but its text begins with a dash',
      '+x',
      '*** Delete File: d.txt',
      '*** Update File: a b.txt',
      '*** Add File:',
      '*** End Patch',
    ].join('\r\n');
    expect(patchPaths(patch)).toEqual(['a b.txt', 'c.txt', 'd.txt']);
  });

  it("takes relative paths from the session's folder", () => {
    expect(absolutePaths(['a.txt', '../b.txt', '/c.txt'], '/project/sub')).toEqual([
      '/project/sub/a.txt',
      '/project/b.txt',
      '/c.txt',
    ]);
  });

  it.each([
    ['tool', { turn: true, tool: true, idle: true }],
    ['turn', { turn: true, tool: false, idle: true }],
    ['off', { turn: false, tool: false, idle: false }],
  ] as const)('automatic = %s', (setting, wanted) => {
    for (const trigger of ['turn', 'tool', 'idle'] as const) expect(isWanted(setting, trigger)).toBe(wanted[trigger]);
  });
});
