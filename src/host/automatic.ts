import { loadConfig } from '../core/config';
import type { Root } from './root';

/** Whether no checkpoint comes by itself in any of these folders, whoever said so: a setting, a project's file, the environment. */
export const automaticOff = (roots: readonly Root[]): boolean =>
  roots.length > 0 && roots.every(({ api }) => loadConfig(api.root, api.folder).config.automatic === 'off');
