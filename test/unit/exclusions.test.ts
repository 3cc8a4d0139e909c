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
});
