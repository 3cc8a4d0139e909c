import { expect, it } from 'vitest';
import { matches } from '../../src/core/filter';
import { Records } from './records';

it.each([
  ['%', false],
  ['before', true],
  ['bef ref', true],
  ['|', true],
  ['ref |', true],
  ['ref %', false],
])('a list without an index is searched for %j', (search, found) => {
  const checkpoint = new Records().next('manual', { name: 'before | refactoring', title: 'before | refactoring' });
  expect(matches(checkpoint, { search })).toBe(found);
});
