import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { oldestSupported } from '../../../src/opencode/versions';
import { oldest, ownOpenCode } from '../../demo/own-opencode.mjs';

describe('the OpenCode of `npm start`', () => {
  let folder: string;
  let said: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'own-opencode-'));
    vi.stubEnv('PATH', [folder, '/usr/bin', '/bin'].join(delimiter));
    said = '';
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
      said += String(text);
      return true;
    });
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true, force: true });
  });

  const installed = (answer: string): string => {
    const file = join(folder, 'opencode');
    writeFileSync(file, `#!/bin/sh\n${answer}\n`, { mode: 0o755 });
    return file;
  };

  it('is the user’s own, where it can be used', () => {
    expect(oldest).toBe(oldestSupported);
    for (const answer of ['echo 1.18.0', 'echo "opencode v2.0.15"', 'echo 10.1.2', 'echo 0.0.0-dev-1']) {
      const file = installed(answer);
      expect(ownOpenCode()).toBe(file);
    }
    expect(said).toBe('');
  });

  it('leaves nothing in the user’s home when it is asked', () => {
    vi.stubEnv('HOME', folder);
    const file = installed('mkdir "$HOME/.config"; echo 2.0.0');
    expect(ownOpenCode()).toBe(file);
    expect(readdirSync(folder)).toEqual(['opencode']);
  });

  it('is another one where that is too old, or broken, and says so', () => {
    const file = installed('echo 1.2.30');
    expect(ownOpenCode()).toBeUndefined();
    expect(said).toBe(`${file} is OpenCode 1.2.30, older than 1.18.0: one from npm is used instead\n`);
    installed('exit 1');
    expect(ownOpenCode()).toBeUndefined();
    expect(said).toContain('does not tell its version');
  });
});
