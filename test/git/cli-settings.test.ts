import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Problem } from '../../src/core/api';
import type { Checkpoint } from '../../src/core/model';
import { useBuilt, Desk } from './cli-rig';

const program = useBuilt('cli');
let desk: Desk;
beforeEach(() => (desk = new Desk(program())));
afterEach(() => desk.dispose());

const settings = (text: string): void =>
  desk.write({ '.opencode/checkpoints.json': text, 'secret.txt': 's', 'v/v': 'v' });
const captured = async (): Promise<string[]> =>
  (JSON.parse((await desk.run(['create', '--json'])).stdout) as { checkpoint: Checkpoint }).checkpoint.files.paths;

describe('settings that are not understood', () => {
  it('are warned of once, on stderr, and told by the doctor; the capture goes on', async () => {
    settings('{"exclude":["secret.txt"],}');
    const ran = await desk.run(['create', 'A', '--json']);
    expect(ran.code).toBe(0);
    expect((JSON.parse(ran.stdout) as { checkpoint: Checkpoint }).checkpoint.files.paths).toContain('secret.txt');
    expect(ran.stderr.match(/^warning: .*checkpoints\.json is not valid JSON/gm)).toHaveLength(1);
    const { problems } = await desk.answer<{ problems: Problem[] }>(['doctor']);
    expect(problems).toEqual([
      { reason: 'config', message: expect.stringContaining('not valid JSON') as string, repaired: false },
    ]);
    expect((await desk.run(['doctor'])).stderr).toBe('');
  });

  it('cannot draw on the terminal', async () => {
    settings('{"\\u001b[31m":1}');
    expect((await desk.run(['create'])).stderr).toMatch(/unknown setting/);
    expect((await desk.run(['create'])).stderr).not.toContain('\u001b');
  });
});

describe('exclude', () => {
  it('may be a single pattern, and have spaces after it', async () => {
    settings('{"exclude":"secret.txt"}');
    expect(await captured()).not.toContain('secret.txt');
    settings('{"exclude":["v/v  "]}');
    expect(await captured()).toContain('secret.txt');
    expect((await desk.run(['cat', 'latest', 'v/v'])).code).toBe(1);
  });

  it('of a whole folder is lifted by `!`', async () => {
    settings('{"exclude":["v/","!v/"]}');
    expect(await captured()).toContain('v/v');
  });
});

describe('maxFileSize', () => {
  it.each(['"1.1 MB"', '"0.0101 KB"', '10.4'])('may be a part of a unit, as in %s', async (size) => {
    settings(`{"maxFileSize":${size}}`);
    desk.write({ small: '1234567890', large: Buffer.alloc(1_153_435) });
    const { files } = (await desk.answer<{ checkpoint: Checkpoint }>(['create'])).checkpoint;
    expect(files.partial).toEqual([]);
    expect(files.paths).toContain('small');
    expect(files.skipped.map(({ path }) => path)).toContain('large');
  });
});
