import { join } from 'node:path';

export type Generation = 'v1' | 'v2';
export type Effect = 'allow' | 'ask' | 'deny';

/** `*` and tool permissions by their name in OpenCode 1 (`edit`, `bash`); `bash` is `shell` in OpenCode 2. */
export type Permissions = Record<string, Effect>;

/** Everything OpenCode keeps, in one temporary folder, and nothing of the machine's own. */
export function isolatedEnv(home: string): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '/usr/bin:/bin',
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    HOME: home,
    XDG_DATA_HOME: join(home, 'data'),
    XDG_CONFIG_HOME: join(home, 'config'),
    XDG_STATE_HOME: join(home, 'state'),
    XDG_CACHE_HOME: join(home, 'cache'),
    TMPDIR: join(home, 'tmp'),
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    OPENCODE_DISABLE_SHARE: '1',
    OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
    OPENCODE_DISABLE_CLAUDE_CODE: '1',
    // A plugin makes OpenCode 1 wait for an npm install; offline it gives that up at once.
    npm_config_offline: 'true',
  };
}

/** A configuration whose only models are scripted; the first one is used unless another is asked for. */
export function scriptedConfig(
  generation: Generation,
  modelUrl: string,
  permissions: Permissions = { '*': 'allow' },
  modelIds: string[] = ['scripted'],
): Record<string, unknown> {
  const model = `scripted/${modelIds[0]}`;
  const each = (what: Record<string, unknown>): Record<string, unknown> =>
    Object.fromEntries(modelIds.map((id) => [id, what]));
  const limit = { context: 100_000, output: 8000 };
  if (generation === 'v1')
    return {
      autoupdate: false,
      share: 'disabled',
      model,
      small_model: model,
      permission: permissions,
      provider: {
        scripted: {
          npm: '@ai-sdk/openai-compatible',
          name: 'Scripted',
          options: { baseURL: modelUrl, apiKey: 'x' },
          models: each({ name: 'Scripted', tool_call: true, limit, cost: { input: 1, output: 2 } }),
        },
      },
    };
  return {
    update: 'disable',
    share: 'disabled',
    model,
    permissions: Object.entries(permissions).map(([action, effect]) => ({
      action: action === 'bash' ? 'shell' : action,
      resource: '*',
      effect,
    })),
    providers: {
      scripted: {
        package: '@ai-sdk/openai-compatible',
        name: 'Scripted',
        settings: { baseURL: modelUrl, apiKey: 'x' },
        models: each({
          name: 'Scripted',
          capabilities: { tools: true, input: ['text'], output: ['text'] },
          limit,
          cost: { input: 1, output: 2 },
        }),
      },
    },
  };
}
