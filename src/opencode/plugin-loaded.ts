import { Http, type Endpoint } from './http';
import type { Generation } from '../core/sessions';
import { isAbsentOr, isFields, isText, listOf, shape, texts, type Shape } from './shapes';
import { waitUntil } from './waiting';
import { CheckpointsError } from '../core/errors';

export interface LoadedState {
  loaded: boolean;
  /** What OpenCode says about a plugin that it could not load. */
  error: string | null;
}

const id = 'opencode-checkpoints';
/** What the plugin leaves in OpenCode 1's configuration where it offers nothing else to be known by. */
export const loadedMark = id;
/** A folder's plugins are loaded at its first request, and not at once. */
const defaultPatienceMs = 15_000;

/** Whether a running server has really loaded the plugin for a folder; a file in the right place is no proof. */
export async function pluginLoaded(
  server: { endpoint: Endpoint; generation: Generation },
  root: string,
  patienceMs = defaultPatienceMs,
): Promise<LoadedState> {
  const http = new Http(server.endpoint);
  if (server.generation === 'v1') return { loaded: await loadedByV1(http, root), error: null };
  let state: LoadedState = { loaded: false, error: null };
  try {
    await waitUntil('Looking for the plugin', patienceMs, async () => {
      state = await askV2(http, root);
      return state.loaded || state.error !== null;
    });
  } catch (error) {
    if (!CheckpointsError.is(error, 'timeout')) throw error;
  }
  return state;
}

/** OpenCode 1 has no list of plugins, but of what they bring. */
async function loadedByV1(http: Http, root: string): Promise<boolean> {
  const query = { directory: root };
  const tools = await http.read(texts, 'GET', '/experimental/tool/ids', { query, timeoutMs: 120_000 });
  if (tools.includes('checkpoint_list')) return true;
  const commands = await http.read(commandList, 'GET', '/command', { query });
  if (commands.some(({ name, description }) => name === 'rewind' && description?.includes('checkpoint') === true))
    return true;
  const { permission } = await http.read(configuration, 'GET', '/config', { query });
  return isFields(permission) && loadedMark in permission;
}

const configuration: Shape<{ permission?: unknown }> = shape('a configuration', isFields);

const commandList: Shape<Array<{ name: string; description?: string | null }>> = listOf(
  'a list of commands',
  shape('a command', (raw) => isFields(raw) && isText(raw['name']) && isAbsentOr(raw['description'], isText)),
);

interface V2Plugin {
  id?: string;
  source?: { path?: string };
  state?: { status: string; error?: unknown };
}

const pluginList: Shape<{ data: V2Plugin[] }> = shape(
  'a list of plugins',
  (raw) => isFields(raw) && Array.isArray(raw['data']) && raw['data'].every(isFields),
);

async function askV2(http: Http, root: string): Promise<LoadedState> {
  const query = { 'location[directory]': root };
  const { data } = await http.read(pluginList, 'GET', '/api/plugin', { query });
  const own = data.find((plugin) => plugin.id === id || plugin.source?.path?.endsWith(`${id}.js`) === true);
  if (!own) return { loaded: false, error: null };
  if (own.state?.status === 'active') return { loaded: true, error: null };
  const { error } = own.state ?? {};
  return {
    loaded: false,
    error: error === undefined ? null : typeof error === 'string' ? error : JSON.stringify(error),
  };
}
