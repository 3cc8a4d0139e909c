import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Connector } from '../../src/opencode/connect';
import { findServer, serviceFile } from '../../src/opencode/discovery';
import { startOpenCode, type OpenCode } from '../rig/opencode';
import { freePort } from '../rig/opencode-process';

describe('finding a server', () => {
  let v1: OpenCode;
  let v2: OpenCode;
  beforeAll(async () => {
    v1 = await startOpenCode({ generation: 'v1' });
    v2 = await startOpenCode({ generation: 'v2' });
  });
  afterAll(async () => {
    await v1.dispose();
    await v2.dispose();
  });
  /** No server is named, none is written down. */
  const bare = (): Record<string, string> => ({ HOME: v2.home, XDG_STATE_HOME: `${v2.home}/no-state` });
  const port = (server: OpenCode): number => Number(new URL(server.url).port);
  const probing = { timeoutsMs: [5000, 10_000] };

  it('takes the named one first', async () => {
    const env = { ...bare(), OPENCODE_SERVER_PASSWORD: v1.password, OPENCODE_SERVER_URL: v2.url };
    expect(await findServer({ serverUrl: v1.url, env, probing })).toMatchObject({
      source: 'setting',
      generation: 'v1',
    });
  });

  it('takes the one of the environment, with either password variable', async () => {
    for (const name of ['OPENCODE_SERVER_PASSWORD', 'OPENCODE_PASSWORD']) {
      const env = { ...bare(), OPENCODE_SERVER_URL: v2.url, [name]: v2.password };
      expect(await findServer({ env, terminalPort: port(v1), probing })).toMatchObject({
        source: 'environment',
        generation: 'v2',
        endpoint: { url: v2.url },
      });
    }
  });

  it('takes no other when the named one does not answer', async () => {
    const dead = `http://127.0.0.1:${await freePort()}`;
    const env = { ...bare(), OPENCODE_PASSWORD: v1.password };
    await expect(findServer({ serverUrl: dead, env, terminalPort: port(v1), probing })).rejects.toMatchObject({
      reason: 'server-unreachable',
    });
    await expect(findServer({ env: { ...bare(), OPENCODE_SERVER_URL: v1.url }, probing })).rejects.toMatchObject({
      reason: 'server-failed',
      details: { unauthorized: true },
    });
  });

  it('takes the one of a terminal, and goes on when that is gone', async () => {
    const env = { ...bare(), OPENCODE_SERVER_PASSWORD: v1.password };
    expect(await findServer({ env, terminalPort: port(v1), probing })).toMatchObject({ source: 'terminal' });
    expect(await findServer({ env, terminalPort: await freePort(), probing })).toBeNull();
  });

  it("finds OpenCode 2's own service through its file", async () => {
    expect(await findServer({ env: v2.env, probing })).toBeNull();
    await v2.cli('service', 'set', 'port', String(await freePort()));
    await v2.cli('service', 'start');
    try {
      const found = await findServer({ env: v2.env, probing });
      expect(found).toMatchObject({ source: 'service', generation: 'v2' });
      const { url } = JSON.parse(await readFile(serviceFile(v2.env), 'utf8')) as { url: string };
      expect(found?.endpoint.url).toBe(url);
      const connector = new Connector({ root: v2.workspace, env: v2.env, stateFolder: `${v2.home}/servers`, probing });
      expect(Array.isArray(await (await connector.gateway()).list(v2.workspace))).toBe(true);
      expect(connector.source).toBe('service');
      await connector.close();
      // It is not ours to stop.
      expect(await findServer({ env: v2.env, probing })).toMatchObject({ source: 'service' });
    } finally {
      await v2.cli('service', 'stop');
    }
    expect(await findServer({ env: v2.env, probing })).toBeNull();
  });

  it('is not misled by a stale or broken service file', async () => {
    const file = serviceFile(v2.env);
    await mkdir(dirname(file), { recursive: true });
    const stale = { url: `http://127.0.0.1:${await freePort()}`, password: 'x', pid: 1 };
    for (const content of [
      JSON.stringify(stale),
      '{',
      '[]',
      '{"url":5}',
      '{"url":"::"}',
      JSON.stringify({ url: v1.url }),
    ]) {
      await writeFile(file, content);
      expect(await findServer({ env: { ...v2.env, OPENCODE_PASSWORD: '' }, probing }), content).toBeNull();
    }
    await rm(file);
  });

  it('starts none when it must not', async () => {
    const connector = new Connector({
      root: v1.workspace,
      env: bare(),
      stateFolder: `${v1.home}/servers`,
      start: false,
      probing,
    });
    await expect(connector.gateway()).rejects.toMatchObject({ reason: 'server-unreachable' });
  });
});
