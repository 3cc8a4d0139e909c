import { describe, expect, it } from 'vitest';
import { warnings } from '../../src/git/status-rows';

describe('what git status says on stderr', () => {
  it.each([
    ["warning: could not open directory 'd/': Permission denied", [{ path: 'd', reason: 'Permission denied' }]],
    ["warning: could not open directory 'deep/deeper/dee", [{ path: 'deep/deeper', reason: 'path too long' }]],
    [
      "warning: unable to access 'd/.gitignore': Permission denied",
      [{ path: 'd/.gitignore', reason: 'Permission denied' }],
    ],
    ["warning: unable to access '/home/me/.config/git/ignore': Permission denied", []],
    ["warning: unable to access '.gitignore': Too many levels of symbolic links", []],
    ['warning: untracked cache is disabled on this system or location', []],
    ['warning: something: new', [{ path: '.', reason: 'warning: something: new' }]],
    ['error: whatever', [{ path: '.', reason: 'error: whatever' }]],
    ['', []],
  ])('%s', (line, found) => {
    expect(warnings(`${line}\n${line}\n`)).toEqual({ unreadable: found, unseen: [], nested: [] });
  });

  it.each([
    ['d/x: Permission denied', { path: 'd/x', reason: 'Permission denied' }],
    ['a: b: Input/output error', { path: 'a: b', reason: 'Input/output error' }],
  ])('%s: a file that it passed over', (line, found) => {
    expect(warnings(`${line}\n`)).toEqual({ unreadable: [], unseen: [found], nested: [] });
  });

  it('a nested repository that it could not enter', () => {
    const found = warnings('d/.opencode-checkpoints-nested: Permission denied\n');
    expect(found).toEqual({ unreadable: [], unseen: [], nested: [{ path: 'd', reason: 'Permission denied' }] });
  });
});
