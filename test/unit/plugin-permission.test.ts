import { describe, expect, it } from 'vitest';
import { askInsteadOfAllow, type PermissionConfig } from '../../src/plugin/v1-permission';

const after = (config: PermissionConfig): PermissionConfig => {
  askInsteadOfAllow(config, 'checkpoint_restore');
  return config;
};

describe('asking before a restore in OpenCode 1', () => {
  it.each([
    ['nothing', undefined, { checkpoint_restore: 'ask' }],
    ['one word', 'allow', { '*': 'allow', checkpoint_restore: 'ask' }],
    ['allow', { '*': 'allow' }, { '*': 'allow', checkpoint_restore: 'ask' }],
    ['allow by pattern', { '*': { '*': 'allow' } }, { '*': { '*': 'allow' }, checkpoint_restore: 'ask' }],
    ['allow after deny', { '*': 'deny', 'checkpoint_*': 'allow' }, 'ask'],
    ['rules for others', { edit: 'deny', bash: { 'rm *': 'deny' } }, 'ask'],
    ['deny', { '*': 'deny' }, { '*': 'deny' }],
    ['one word of no', 'deny', { '*': 'deny' }],
    ['deny after allow', { '*': 'allow', 'checkpoint_*': 'deny' }, { '*': 'allow', 'checkpoint_*': 'deny' }],
    ['ask', { '*': 'ask' }, { '*': 'ask' }],
    ['its own name', { '*': 'deny', checkpoint_restore: 'allow' }, 'allow'],
    ['its own name, and all after it', { checkpoint_restore: 'deny', '*': 'allow' }, 'deny'],
  ])('%s', (_, permission, expected) => {
    const rules = after({ permission }).permission as Record<string, unknown>;
    if (typeof expected !== 'string') expect(rules).toEqual(expected);
    else expect(Object.entries(rules).at(-1)).toEqual(['checkpoint_restore', expected]);
  });

  it("changes an agent's own rules only where they allow it", () => {
    const agent = {
      build: { permission: { '*': 'allow' } },
      plan: { permission: { edit: 'deny' } },
      review: { permission: 'deny' },
      own: { permission: { '*': 'allow', checkpoint_restore: 'allow' } },
      plain: {},
    };
    expect(after({ permission: 'deny', agent }).agent).toEqual({
      build: { permission: { '*': 'allow', checkpoint_restore: 'ask' } },
      plan: { permission: { edit: 'deny' } },
      review: { permission: { '*': 'deny' } },
      own: { permission: { '*': 'allow', checkpoint_restore: 'allow' } },
      plain: {},
    });
  });

  it('asks no agent where the user allowed it by name', () => {
    const config = { permission: { checkpoint_restore: 'allow' }, agent: { build: { permission: { '*': 'allow' } } } };
    expect(after(config).agent).toEqual({ build: { permission: { '*': 'allow' } } });
  });
});
