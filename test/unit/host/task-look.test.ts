import { describe, expect, it } from 'vitest';
import { TaskLook } from '../../../src/host/task-look';

describe('what the task view shows', () => {
  it('has changed only when it is another', async () => {
    let task: unknown = { title: 'One', nextSteps: ['a'] };
    const look = new TaskLook(async () => task);
    expect(await look.changed()).toBe(true);
    task = { title: 'One', nextSteps: ['a'] };
    expect(await look.changed()).toBe(false);
    task = { title: 'One', nextSteps: ['a', 'b'] };
    expect(await look.changed()).toBe(true);
    expect(await look.changed()).toBe(false);
    look.forget();
    expect(await look.changed()).toBe(true);
  });

  it('is asked for as long as it cannot be read, and once more afterwards', async () => {
    let broken = true;
    const look = new TaskLook(async () => {
      if (broken) throw new Error('no permission');
      return 'task';
    });
    expect([await look.changed(), await look.changed()]).toEqual([true, true]);
    broken = false;
    expect([await look.changed(), await look.changed()]).toEqual([true, false]);
  });
});
