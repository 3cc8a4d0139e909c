import { names } from '../core/attribution';
import type { Config } from '../core/config';
import type { Checkpoint } from '../core/model';
import type { FileVersion } from '../core/ports';
import type { BaseRef } from './base-ref';
import type { CheckpointRefs } from './checkpoint-refs';
import { Exclusions } from './exclusions';
import type { ObjectReader } from './object-reader';
import type { Snapshots } from './snapshots';
import type { Trees } from './trees';

export interface LeftOutParts {
  trees: Trees;
  snapshots: Snapshots;
  checkpoints: CheckpointRefs;
  base: BaseRef;
  reader: ObjectReader;
  config: () => Config;
}

/** What a checkpoint does not have though it may have been there: a restore must not take that for deleted. */
export class LeftOut {
  constructor(private readonly parts: LeftOutParts) {}

  /** Which of these paths were out then, and why. */
  async from({ files }: Pick<Checkpoint, 'files'>, paths: string[]): Promise<Map<string, string>> {
    const out = new Map<string, string>();
    const exclusions = new Exclusions(files.exclude ?? []);
    const ignored = await this.ignoredAt(files.tree, paths);
    const byTools = await this.namedByTools();
    for (const path of paths) {
      if (exclusions.why(path) !== null) out.set(path, 'excluded');
      // What an agent's tool named belongs to the workspace's files, ignored or not.
      else if (ignored.has(path) && !byTools.has(path)) out.set(path, 'ignored');
    }
    return out;
  }

  async firstNamed(
    { id, files }: Pick<Checkpoint, 'id' | 'files'>,
    paths: string[],
  ): Promise<Map<string, FileVersion>> {
    const out = new Map<string, FileVersion>();
    const byTools = await this.namedByTools();
    const named = paths.filter((path) => byTools.has(path));
    const open = named.length === 0 ? new Set<string>() : await this.ignoredAt(files.tree, named);
    const later = this.parts.checkpoints.siblings(id).filter((other) => other > id);
    for (const other of open.size === 0 ? [] : later.sort()) {
      const [point] = await this.parts.checkpoints.read([other]);
      if (!point) continue;
      for (const path of [...open]) {
        const version = await this.parts.trees.fileAt(point.files.tree, path);
        if (!version) continue;
        open.delete(path);
        // Captured before the first call that names it; else the agent made it.
        const isFirst = point.files.calls?.some((call) => names(call, path)) !== true;
        if (isFirst && point.trigger === 'tool' && point.cause?.paths.includes(path)) out.set(path, version);
      }
      if (open.size === 0) break;
    }
    return out;
  }

  private ignoredAt(tree: string, paths: string[]): Promise<Set<string>> {
    const { snapshots, config, reader } = this.parts;
    return snapshots.ignoredIn(tree, paths, config(), (oid) => reader.blob(oid));
  }

  private async namedByTools(): Promise<Set<string>> {
    const base = await this.parts.base.read();
    const named = new Set([...(base?.forced ?? []), ...Object.keys(base?.named ?? {})]);
    for (const path of base?.brought ?? []) named.delete(path);
    return named;
  }
}
