import { describe, expect, it } from 'vitest';
import { backupWaysOut, complain, recoverySentence, waysOut } from '../../src/cli/sentences';
import { CheckpointsError, reasons } from '../../src/core/errors';

describe('sentences of the command line', () => {
  it('has a way out for every reason there is, and for no other', () => {
    expect(Object.keys(waysOut).sort()).toEqual([...reasons, 'usage', 'internal'].sort());
  });

  it.each([...Object.entries(waysOut), ...Object.entries(backupWaysOut)])(
    '%s: the way out is a whole sentence',
    (_reason, text) => {
      expect(text).toMatch(/^[A-Z`].{10,}[.]$/s);
    },
  );

  it('names only commands and flags that exist', async () => {
    const { parse } = await import('../../src/cli/parse');
    const all = [...Object.values(waysOut), ...Object.values(backupWaysOut)];
    const words = all.flatMap((text) => [...text.matchAll(/`opencode-checkpoints ([a-z-]+)/g)]);
    expect(words.length).toBeGreaterThan(5);
    for (const [, command] of words) expect(parse([command ?? '', '--help']).kind).toBe('answer');
  });

  it('tells whoever lost a backup how to begin anew, and nobody else', () => {
    const lost = (trouble: string) => complain(new CheckpointsError('backup-failed', 'x', { details: { trouble } }));
    expect(lost('destination-missing').wayOut).toContain('backup run --init');
    expect(lost('destination-full').wayOut).not.toContain('--init');
    expect(lost('toString').wayOut).toBe(waysOut['backup-failed']);
  });

  it('sends nobody to an empty list, to settings for a folder that was named, or to help for what is no turn', () => {
    const wayOut = (reason: 'unknown-reference' | 'no-backup' | 'invalid-argument', details?: object) =>
      complain(new CheckpointsError(reason, 'x', { details: { ...details } })).wayOut;
    expect(wayOut('unknown-reference', { none: true })).toContain('`opencode-checkpoints create`');
    expect(wayOut('unknown-reference', { candidates: [] })).toBe(waysOut['unknown-reference']);
    expect(wayOut('no-backup', { path: '/x' })).not.toContain('OPENCODE_BACKUP_PATH');
    expect(wayOut('no-backup')).toBe(waysOut['no-backup']);
    expect(wayOut('invalid-argument', { noTurn: true })).toContain('list --trigger turn');
    expect(wayOut('invalid-argument')).toBe(waysOut['invalid-argument']);
  });

  it('names what the command at hand has: revert-turn has no dry run, originals a list of its own', () => {
    const wayOut = (reason: 'mass-delete' | 'not-in-checkpoint', details?: Record<string, unknown>) =>
      complain(new CheckpointsError(reason, 'x', { details })).wayOut;
    expect(wayOut('mass-delete', { operation: 'restore' })).toBe(waysOut['mass-delete']);
    expect(wayOut('mass-delete', { operation: 'revert-turn' })).not.toContain('--dry-run');
    expect(wayOut('not-in-checkpoint')).toBe(waysOut['not-in-checkpoint']);
    expect(wayOut('not-in-checkpoint', { original: true })).toContain('`opencode-checkpoints originals`');
  });

  it('counts what a recovery left alone as one speaks', () => {
    const report = { outcome: 'finished' as const, safety: 'cp_a', target: 'cp_b', scope: ['files' as const] };
    const left = (...paths: string[]) =>
      recoverySentence({
        ...report,
        restored: [],
        deleted: [],
        kept: paths.map((path) => ({ path, reason: path === 'a' ? 'edited' : 'may not be written' })),
      });
    expect(left('a')).toContain('1 was left as it is: a (edited).');
    expect(left('a', 'b')).toContain('2 were left as they are: a (edited), b (may not be written).');
  });

  it('gives each message one full stop', () => {
    expect(complain(new CheckpointsError('busy', 'It is locked')).message).toBe('It is locked.');
    expect(complain(new CheckpointsError('busy', 'It is locked.')).message).toBe('It is locked.');
  });

  it('calls what it does not know a fault of its own', () => {
    expect(complain(new TypeError('x is not a function'))).toMatchObject({
      reason: 'internal',
      message: 'x is not a function.',
    });
    expect(complain('text')).toMatchObject({ reason: 'internal', message: 'text.' });
  });
});
