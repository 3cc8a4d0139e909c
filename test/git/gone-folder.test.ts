import { renameSync } from 'node:fs';
import { expect, it } from 'vitest';
import { sandbox } from './rig';

it('a workspace whose folder is gone is told as that, and goes on once it is back', async () => {
  const box = sandbox();
  box.write('a.txt', 'one\n');
  const workspace = await box.open();
  await workspace.create({ name: 'then' });
  const away = `${box.root}-away`;
  renameSync(box.root, away);
  // Not a git that is missing, which the file system tells by the same code.
  const refusal = {
    reason: 'refused-root',
    message: `The folder ${box.root} is not there any more.`,
    details: { gone: true },
  };
  await expect(workspace.create()).rejects.toMatchObject(refusal);
  await expect(workspace.plan('then')).rejects.toMatchObject(refusal);
  renameSync(away, box.root);
  box.write('a.txt', 'two\n');
  expect((await workspace.create()).files.modified).toBe(1);
});
