import ignore from 'ignore';
import { describe, expect, it } from 'vitest';
import { Exclusions, secretPatterns } from '../../src/git/exclusions';

/** Paths made of parts that patterns are made of, with something before, after and around them. */
function paths(): string[] {
  const names = ['.env', '.env.local', 'x.env', '.environment', 'a.pem', 'A.PEM', 'a.pem.txt', 'my.key', '.key', 'key'];
  names.push('id_rsa', 'id_rsa.pub', 'xid_rsa', 'credentials', 'credentials.json', 'config', 'config.json', 'secret');
  names.push('notes.log', 'log', 'build', 'out.tmp', 'a1b', 'ab', 'state', '.netrc', 'tmp');
  const folders = [
    '',
    'src/',
    '.aws/',
    '.docker/',
    '.kube/',
    'src/.kube/',
    'build/',
    'a/build/',
    'deep/.env/',
    '.env.d/',
  ];
  return folders.flatMap((folder) => names.map((name) => folder + name));
}

describe('exclusions', () => {
  it.each([
    [[]],
    [['*.log', 'build/', '/tmp', 'a?b']],
    [['secret*', '*tmp', 'deep/**/secret', 'src/*/config', '!.env', '!*.pem']],
    [['*']],
    [['[ab]*', '\\!x', 'notes.*']],
    [['/src/.kube/config', '**/build/**', 'src/**']],
  ])('with %j are those of the patterns, however they are looked up', (patterns) => {
    const exclusions = new Exclusions(patterns);
    const plain = ignore({ allowRelativePaths: true }).add([...secretPatterns, ...patterns]);
    for (const path of paths())
      expect([path, exclusions.why(path)]).toEqual([path, plain.ignores(path) ? 'excluded' : null]);
  });

  it.each(['id_rsa', 'id_ed25519_sk', 'id_ecdsa', 'id_ecdsa_sk.pub', 'id_dsa'])('hold a key of ssh: %s', (name) => {
    expect(new Exclusions([]).why(`deploy/${name}`)).toBe('excluded');
    expect(new Exclusions([`!${name}`]).why(`deploy/${name}`)).toBeNull();
  });

  it('do not depend on spaces after a pattern, unless one is escaped', () => {
    const why = (pattern: string, path: string): string | null => new Exclusions([pattern]).why(path);
    expect(why('secret.txt ', 'a/secret.txt')).toBe('excluded');
    expect(why('private/  ', 'private/x')).toBe('excluded');
    expect(new Exclusions(['private/  ']).folderPatterns).toContain('private/');
    expect([why('odd\\ ', 'odd '), why('odd\\ ', 'odd')]).toEqual(['excluded', null]);
  });

  it.each([
    [['vendor/', '!vendor/'], []],
    [['/vendor/', '!vendor'], []],
    [['vendor/', '!a/vendor/'], []],
    [['vendor/', '!ven*/'], []],
    [['build*/', '!build-kept/'], []],
    [['!vendor/', 'vendor/'], ['vendor/']],
    [['vendor/', 'out/', '!vendor/', '!notes.key'], ['out/']],
    // As in git, what lies in an excluded folder cannot be taken back alone.
    [['vendor/', '!vendor/kept.txt'], ['vendor/']],
  ])("of whole folders, %j, are for git's walk %j", (patterns, whole) => {
    expect(new Exclusions(patterns).folderPatterns.slice(1)).toEqual(whole);
  });
});
