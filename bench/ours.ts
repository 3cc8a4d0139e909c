import type { WorkspaceApi } from '../src/core/api';
import type { Engine, EngineKind, Lane, Mark, Place } from './engine';
import { ours } from './names';
import { openOurs } from './open';

/** Our engine, through the interface that the extension, the plugin and the command line use. */
export class Ours implements Engine {
  readonly name = ours;
  private opened: WorkspaceApi | null = null;
  private last: Mark = '';

  constructor(private readonly place: Place) {}

  get api(): WorkspaceApi {
    if (this.opened === null) throw new Error('ours: not opened');
    return this.opened;
  }

  async open(): Promise<WorkspaceApi> {
    const api = this.opened ?? (await openOurs(this.place));
    this.opened = api;
    return api;
  }

  async first(): Promise<Mark> {
    const api = await this.open();
    this.last = (await api.create({ trigger: 'manual' })).id;
    return this.last;
  }

  async checkpoint(lane: Lane): Promise<Mark> {
    const made =
      lane.lane === 'paths'
        ? await this.api.create({
            trigger: 'tool',
            paths: lane.paths,
            cause: { tool: 'edit', callId: null, paths: lane.paths },
          })
        : lane.automatic
          ? await this.api.create({ trigger: 'idle', automatic: true })
          : await this.api.create({ trigger: 'turn' });
    this.last = made?.id ?? this.last;
    return this.last;
  }

  async diff(from: Mark, to: Mark): Promise<string[]> {
    return (await this.api.diff(from, to)).changes.map((change) => change.path);
  }

  async restore(target: Mark): Promise<void> {
    const { kept, skipped } = await this.api.restore(target, { scope: ['files'], allowMassDelete: true });
    const [first] = [...kept, ...skipped];
    if (first !== undefined)
      throw new Error(`${kept.length} paths kept, ${skipped.length} skipped, such as ${first.path}: ${first.reason}`);
  }

  settle(): Promise<void> {
    return Promise.resolve();
  }

  async close(): Promise<void> {
    await this.opened?.close();
    this.opened = null;
  }
}

export const oursKind: EngineKind = {
  name: ours,
  plainFolders: true,
  scans: true,
  slowFirst: false,
  open: (place) => new Ours(place),
};
