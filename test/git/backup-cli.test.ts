import { existsSync, mkdirSync, readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { place } from './backup-rig';
import { Desk, useBuilt } from './cli-rig';

const program = useBuilt('cli');
let desk: Desk;
beforeEach(() => (desk = new Desk(program())));
afterEach(() => desk.dispose());

const noServer = { OPENCODE_BIN: '/nowhere/opencode' };

describe('backup on the command line, without OpenCode', () => {
  it('is off until a folder is set, and says what to do', async () => {
    mkdirSync(join(desk.home, 'Nextcloud'));
    const { backup } = await desk.answer<{ backup: object }>(['backup', 'status']);
    const suggested = join(desk.home, 'Nextcloud', 'opencode-sessions');
    expect(backup).toMatchObject({ path: null, state: 'off', sessions: 0, suggestions: [suggested] });
    expect((await desk.run(['backup', 'status'])).stdout).toContain(suggested);
    for (const command of [['run'], ['restore'], ['restore', '--dry-run'], ['verify']]) {
      const { reason, message } = await desk.refusal(['backup', ...command], 1, { env: noServer });
      expect([command, reason]).toEqual([command, 'no-backup']);
      expect(message).toContain('OPENCODE_BACKUP_PATH');
    }
  });

  it('works in folders that get no checkpoints, and makes no store', async () => {
    const { backup } = await desk.answer<{ backup: object }>(['backup', 'status'], { cwd: desk.home });
    expect(backup).toMatchObject({ state: 'off' });
    expect(existsSync(join(desk.home, 'data', 'opencode-checkpoints', 'workspaces'))).toBe(false);
  });

  it("takes the folder from the user's files, and from no project's", async () => {
    const path = join(desk.top, 'saved');
    desk.write({
      '.opencode/checkpoints.json': JSON.stringify({ backup: { path: '/stolen' } }),
      'opencode.json': JSON.stringify({ 'session-backup': { backupPath: '/stolen' } }),
    });
    const status = async (env: NodeJS.ProcessEnv = {}): Promise<unknown> =>
      (await desk.answer<{ backup: unknown }>(['backup', 'status'], { env })).backup;
    expect(await status()).toMatchObject({ path: null });
    mkdirSync(join(desk.home, 'config/opencode-checkpoints'), { recursive: true });
    mkdirSync(join(desk.home, 'config/opencode'), { recursive: true });
    writeFileSync(
      join(desk.home, 'config/opencode/opencode.jsonc'),
      `{"session-backup": {"backupPath": "${path}-old"}} // mine`,
    );
    expect(await status()).toMatchObject({ path: `${path}-old`, source: 'opencode.json' });
    writeFileSync(join(desk.home, 'config/opencode-checkpoints/config.json'), JSON.stringify({ 'backup.path': path }));
    expect(await status()).toMatchObject({ path, source: 'setting', lastRunAt: null, problem: null });
    expect(await status({ OPENCODE_BACKUP_PATH: `${path}-env` })).toMatchObject({ source: 'environment' });
    expect(existsSync(path)).toBe(false);
    expect((await desk.refusal(['backup', 'status'], 1, { env: { OPENCODE_BACKUP_PATH: 'relative' } })).reason).toBe(
      'invalid-argument',
    );
  });

  it('says that OpenCode is missing, here and in the status', async () => {
    const env = { ...noServer, OPENCODE_BACKUP_PATH: join(desk.top, 'saved') };
    const { reason, message } = await desk.refusal(['backup', 'run'], 1, { env });
    expect(reason).toBe('backup-failed');
    expect(message).toContain('/nowhere/opencode');
    const { backup } = await desk.answer<{ backup: object }>(['backup', 'status'], { env });
    expect(backup).toMatchObject({ state: 'problem', problem: { trouble: 'server' }, lastSuccessAt: null });
    expect((await desk.run(['backup', 'status'], { env })).stdout).toMatch(/problem .*\(server\)/);
  });

  it('verifies, with an exit code for scripts', async () => {
    const at = place();
    const one = at.machine();
    one.server.add('ses_a');
    await one.service.run();
    one.server.say('ses_a');
    await one.service.run();
    const env = { OPENCODE_BACKUP_PATH: at.backup };
    expect(await desk.answer(['backup', 'verify'], { env })).toMatchObject({ backup: { checked: 2, damaged: [] } });
    expect((await desk.run(['backup', 'verify'], { env })).stdout).toMatch(/2 files .*: all whole\.\n$/);
    truncateSync(join(at.backup, 'sessions/project1/ses_a.json'), 30);
    const [older] = readdirSync(join(at.backup, 'versions/project1/ses_a'));
    const document = await desk.document(['backup', 'verify'], 1, { env });
    expect(document).toMatchObject({
      backup: {
        damaged: [
          {
            file: 'sessions/project1/ses_a.json',
            problem: 'truncated',
            older: [{ file: expect.stringContaining(older ?? '') as string }],
          },
        ],
      },
    });
    const ran = await desk.run(['backup', 'verify'], { env });
    expect(ran.code).toBe(1);
    expect(ran.stdout).toContain(`whole: versions/project1/ses_a/${older}`);
  });

  it('refuses bad values', async () => {
    const env = { OPENCODE_BACKUP_PATH: desk.top };
    expect((await desk.refusal(['backup', 'restore', '--existing', 'overwrite'], 1, { env })).reason).toBe(
      'invalid-argument',
    );
    const from = await desk.refusal(['backup', 'restore', '--from', join(desk.top, 'nowhere')], 1, { env });
    expect(from.reason).toBe('no-backup');
  });
});
