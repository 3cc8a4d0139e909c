import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { CheckpointsError } from './errors';
import { parseJson } from './text';

/** The settings, as every host sees them. */
export interface Config {
  automatic: 'tool' | 'turn' | 'off';
  exclude: string[];
  /** Bytes. */
  maxFileSize: number;
  maxCheckpoints: number;
  /** Milliseconds. */
  maxAge: number;
  /** Bytes. */
  maxStoreSize: number;
  /** Milliseconds. */
  captureBudget: number;
  'task.exportState': boolean;
  'task.autosaveEvery': number;
  'opencode.serverUrl': string;
  'opencode.path': string;
  storeLocation: string;
  'backup.path': string;
  'backup.generations': number;
  'backup.debug': boolean;
  tools: 'all' | 'core' | 'none';
}

export type ConfigKey = keyof Config;

export const defaults: Config = {
  automatic: 'tool',
  exclude: [],
  maxFileSize: 20 * 1024 * 1024,
  maxCheckpoints: 100,
  maxAge: 30 * 86_400_000,
  maxStoreSize: 2 * 1024 * 1024 * 1024,
  captureBudget: 5_000,
  'task.exportState': true,
  'task.autosaveEvery': 5,
  'opencode.serverUrl': '',
  'opencode.path': '',
  storeLocation: '',
  'backup.path': '',
  'backup.generations': 5,
  'backup.debug': false,
  tools: 'all',
};

/** What names a program, a server or a place is never taken from a project's own file. */
export const machineOnly: readonly ConfigKey[] = [
  'opencode.serverUrl',
  'opencode.path',
  'storeLocation',
  'backup.path',
  'backup.generations',
  'backup.debug',
];

const units: Record<string, number> = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 };
const times: Record<string, number> = {
  ms: 1,
  s: 1000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  day: 86_400_000,
  days: 86_400_000,
};

/** A number in the base unit, or text such as "20 MB", "30 days"; "1.1 MB" is no whole number of bytes, and there are no others. */
function quantity(value: unknown, table: Record<string, number>, plain: number): number | undefined {
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return Math.round(value * plain);
  if (typeof value !== 'string') return undefined;
  const match = /^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$/i.exec(value);
  if (!match) return undefined;
  const unit = match[2] ? table[match[2].toLowerCase()] : plain;
  return unit === undefined ? undefined : Math.round(Number(match[1]) * unit);
}

const oneOf =
  (...allowed: string[]) =>
  (value: unknown): unknown =>
    typeof value === 'string' && allowed.includes(value) ? value : undefined;
const text = (value: unknown): unknown => (typeof value === 'string' ? value : undefined);
/** No shell has looked at what stands in a file. */
const atHome = (path: string): string => (/^~(?=[/\\]|$)/.test(path) ? join(homedir(), path.slice(1)) : path);
const path = (value: unknown): unknown => (typeof value === 'string' ? atHome(value) : undefined);
/** Empty, or the same wherever one stands. */
const place = (value: unknown): unknown =>
  typeof value === 'string' && (value === '' || isAbsolute(value) || /^~(?=[/\\]|$)/.test(value)) ? value : undefined;
const flag = (value: unknown): unknown => (typeof value === 'boolean' ? value : undefined);
const count = (value: unknown): unknown =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : undefined;
const strings = (value: unknown): unknown => {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list.every((item) => typeof item === 'string') ? list : undefined;
};

/** In words, for whoever wrote something else. */
const wanted: Record<ConfigKey, string> = {
  automatic: '"tool", "turn" or "off"',
  exclude: 'a list of patterns',
  maxFileSize: 'a size such as "20 MB"',
  maxCheckpoints: 'a whole number',
  maxAge: 'a time such as "30 days"',
  maxStoreSize: 'a size such as "2 GB"',
  captureBudget: 'a time such as "5 s"',
  'task.exportState': 'true or false',
  'task.autosaveEvery': 'a whole number',
  'opencode.serverUrl': 'an address',
  'opencode.path': 'a path',
  storeLocation: 'a path',
  'backup.path': 'an absolute path',
  'backup.generations': 'a whole number',
  'backup.debug': 'true or false',
  tools: '"all", "core" or "none"',
};

/** Plain numbers: bytes for sizes, days for maxAge, milliseconds for captureBudget. */
const readers: Record<ConfigKey, (value: unknown) => unknown> = {
  automatic: oneOf('tool', 'turn', 'off'),
  exclude: strings,
  maxFileSize: (v) => quantity(v, units, 1),
  maxCheckpoints: count,
  maxAge: (v) => quantity(v, times, 86_400_000),
  maxStoreSize: (v) => quantity(v, units, 1),
  captureBudget: (v) => quantity(v, times, 1),
  'task.exportState': flag,
  'task.autosaveEvery': count,
  'opencode.serverUrl': text,
  'opencode.path': path,
  storeLocation: path,
  'backup.path': place,
  'backup.generations': count,
  'backup.debug': flag,
  tools: oneOf('all', 'core', 'none'),
};

export interface ConfigProblem {
  source: string;
  key: string;
  message: string;
}

/** Later layers win; a bad value is reported and the one below it stays. */
export function mergeConfig(layers: Array<{ source: string; values: unknown; project?: boolean }>): {
  config: Config;
  problems: ConfigProblem[];
} {
  const config: Record<string, unknown> = { ...defaults };
  const problems: ConfigProblem[] = [];
  for (const { source, values, project } of layers) {
    if (values === null || values === undefined) continue;
    if (typeof values !== 'object' || Array.isArray(values)) {
      problems.push({ source, key: '', message: `${source} must hold a JSON object.` });
      continue;
    }
    for (const [key, value] of Object.entries(flatten(values as Record<string, unknown>))) {
      const read = Object.hasOwn(readers, key) ? readers[key as ConfigKey] : undefined;
      if (!read) problems.push({ source, key, message: `${source}: unknown setting "${key}".` });
      else if (project && machineOnly.includes(key as ConfigKey))
        problems.push({ source, key, message: `${source}: "${key}" is not taken from a project's file.` });
      else {
        const good = read(value);
        if (good === undefined)
          problems.push({
            source,
            key,
            message: `${source}: bad value for "${key}", which takes ${wanted[key as ConfigKey]}.`,
          });
        else config[key] = key === 'exclude' ? [...(config[key] as string[]), ...(good as string[])] : good;
      }
    }
  }
  return { config: config as unknown as Config, problems };
}

/** `{"task": {"exportState": true}}` and `{"task.exportState": true}` mean the same. */
function flatten(values: Record<string, unknown>, prefix = ''): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(values)) {
    const path = prefix + key;
    if (value !== null && typeof value === 'object' && !Array.isArray(value) && !Object.hasOwn(readers, path))
      Object.assign(out, flatten(value as Record<string, unknown>, `${path}.`));
    else out[path] = value;
  }
  return out;
}

/** As `process.env`, in words that a program without Node's types knows, too. */
export type Environment = Readonly<Record<string, string | undefined>>;

export function globalConfigPath(env: Environment = process.env): string {
  const base = xdg(env.XDG_CONFIG_HOME) ?? join(homedir(), '.config');
  return join(base, 'opencode-checkpoints', 'config.json');
}

export function readConfigFile(path: string): { values: unknown; problem: ConfigProblem | null } {
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { values: null, problem: null };
    return { values: null, problem: { source: path, key: '', message: `${path} could not be read (${code}).` } };
  }
  try {
    return { values: parseJson(content), problem: null };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { values: null, problem: { source: path, key: '', message: `${path} is not valid JSON: ${why}` } };
  }
}

const switches: Readonly<Record<string, boolean>> = { true: true, '1': true, false: false, '0': false };

/** Environment beats files: OPENCODE_CHECKPOINTS_<SETTING>, e.g. OPENCODE_CHECKPOINTS_AUTOMATIC=off. */
export function environmentLayer(env: Environment): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const key of Object.keys(readers) as ConfigKey[]) {
    const name = `OPENCODE_CHECKPOINTS_${key
      .replace(/\./g, '_')
      .replace(/([a-z])([A-Z])/g, '$1_$2')
      .toUpperCase()}`;
    const value = env[name];
    if (value === undefined || value === '') continue;
    // What is neither is told as a bad value.
    if (typeof defaults[key] === 'boolean') out[key] = switches[value.toLowerCase()] ?? value;
    else if (key === 'exclude') out[key] = value.split(',').filter(Boolean);
    else if (readers[key] === count) out[key] = Number(value);
    else out[key] = value;
  }
  return out;
}

/** The configuration of one workspace. `folder` is its folder in the store. */
export function loadConfig(
  root: string,
  folder: string,
  env: Environment = process.env,
): { config: Config; problems: ConfigProblem[] } {
  const sources = [
    { path: globalConfigPath(env), project: false },
    { path: join(root, '.opencode', 'checkpoints.json'), project: true },
    { path: join(folder, 'config.json'), project: false },
  ];
  const read = sources.map(({ path, project }) => ({ path, project, ...readConfigFile(path) }));
  const merged = mergeConfig([
    ...read.map(({ path, project, values }) => ({ source: path, values, project })),
    { source: 'environment', values: environmentLayer(env) },
  ]);
  const unreadable = read.flatMap(({ problem }) => (problem ? [problem] : []));
  return { config: merged.config, problems: [...unreadable, ...merged.problems] };
}

/** Where all stores live. */
export function storeHome(env: Environment = process.env): string {
  if (env.OPENCODE_CHECKPOINTS_HOME) return absolute('OPENCODE_CHECKPOINTS_HOME', env.OPENCODE_CHECKPOINTS_HOME);
  const { values } = readConfigFile(globalConfigPath(env));
  const location = (values as { storeLocation?: unknown } | null)?.storeLocation;
  if (typeof location === 'string' && location !== '') return absolute('storeLocation', location);
  const data = xdg(env.XDG_DATA_HOME);
  if (data) return join(data, 'opencode-checkpoints');
  if (process.platform === 'win32' && env.LOCALAPPDATA) return join(env.LOCALAPPDATA, 'opencode-checkpoints');
  return join(homedir(), '.local', 'share', 'opencode-checkpoints');
}

/** A relative one would mean another store in every folder. */
function absolute(what: string, given: string): string {
  const place = atHome(given);
  if (isAbsolute(place)) return place;
  throw new CheckpointsError('invalid-argument', `${what} must be an absolute path: ${given}`);
}

/** The XDG specification has relative paths ignored. */
function xdg(path: string | undefined): string | null {
  return path && isAbsolute(path) ? path : null;
}
