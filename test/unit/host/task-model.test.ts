import { describe, expect, it } from 'vitest';
import { addItem, findItem, hasLines, replaceItem, tickItem } from '../../../src/host/task-model';

const task = { nextSteps: ['a', 'b', 'a'], completedSteps: ['x'] };

describe('editing the task', () => {
  it('adds to a list, also to one that is not there', () => {
    expect(addItem(task, 'nextSteps', 'c')).toEqual({ nextSteps: ['a', 'b', 'a', 'c'] });
    expect(addItem(null, 'notes', 'n')).toEqual({ notes: ['n'] });
  });

  it('replaces the item that was clicked, not its double', () => {
    expect(replaceItem(task, 'nextSteps', 2, 'a', 'z')).toEqual({ nextSteps: ['a', 'b', 'z'] });
    expect(replaceItem(task, 'nextSteps', 1, 'b', '')).toEqual({ nextSteps: ['a', 'a'] });
  });

  it('finds an item by the texts it had, the newest first', () => {
    expect(findItem(['a', 'b', 'a'], 2, ['a'])).toBe(2);
    expect(findItem(['old', 'x', 'new'], 0, ['new', 'old'])).toBe(2);
    expect(findItem(['x', 'old'], 0, ['new', 'old'])).toBe(1);
    expect(findItem(['x'], 0, ['new', 'old'])).toBe(-1);
  });

  it('tells a text of several lines', () => {
    expect(['a', 'a\nb', 'a\r\nb', ''].map(hasLines)).toEqual([false, true, true, false]);
  });

  it('finds an item that moved, and leaves alone what is gone', () => {
    expect(replaceItem(task, 'nextSteps', 0, 'b', 'B')).toEqual({ nextSteps: ['a', 'B', 'a'] });
    expect(replaceItem(task, 'nextSteps', 0, 'gone', 'B')).toEqual({});
  });

  it('moves a step when it is ticked, and back', () => {
    expect(tickItem(task, 'nextSteps', 1, 'b', true)).toEqual({ nextSteps: ['a', 'a'], completedSteps: ['x', 'b'] });
    expect(tickItem(task, 'completedSteps', 0, 'x', false)).toEqual({
      completedSteps: [],
      nextSteps: ['x', 'a', 'b', 'a'],
    });
    expect(tickItem(task, 'nextSteps', 1, 'b', false)).toEqual({});
  });
});
