import type { Config } from '../core/config';
import type { Checkpoint } from '../core/model';
import type { AdoptedFiles, AdoptRequest } from '../core/ports';
import { Exclusions } from './exclusions';
import type { PackWriter } from './pack-writer';
import { checkpointMessage, encodeCommit } from './records';
import type { GitStore } from './store';
import { modes, type Leaf } from './tree-format';
import { collisions, unsafePath } from './trust';

interface Adopted {
  added: Checkpoint[];
  known: Checkpoint[];
}

/**
 * Checkpoints with given files. Their objects are written together, their refs one by one: each checkpoint is whole or not there. The base stays what
 * it is, for the workspace's files are none of this. What must never be in the store stays out here, too.
 */
export async function adoptAll(
  store: GitStore,
  requests: readonly AdoptRequest[],
  config: Config,
  refOf: (id: string) => string,
): Promise<Adopted> {
  const result: Adopted = { added: [], known: [] };
  const writer = store.newWriter();
  let waiting: Checkpoint[] = [];
  const publish = async (): Promise<void> => {
    await writer.flush();
    for (const checkpoint of waiting)
      if (await store.refsOf.swap(refOf(checkpoint.id), null, checkpoint.files.commit)) result.added.push(checkpoint);
      else result.known.push(...(await store.read([checkpoint.id])));
    waiting = [];
  };
  for (const request of requests) {
    const nothing: AdoptedFiles = { tree: store.trees.emptyTree, paths: [], skipped: [] };
    const { id } = request.compose(nothing);
    if (store.refsOf.read(refOf(id)) !== null) {
      result.known.push(...(await store.read([id])));
      continue;
    }
    waiting.push(await build(store, request, config, writer));
    if (writer.full) await publish();
  }
  await publish();
  return result;
}

async function build(store: GitStore, request: AdoptRequest, config: Config, writer: PackWriter): Promise<Checkpoint> {
  const leaves = new Map<string, Leaf>();
  const facts = await readGiven(request, config, (path, data) => {
    leaves.set(path, { mode: modes.file, oid: writer.add('blob', data) });
    return writer.full ? writer.flush() : Promise.resolve();
  });
  const tree = await store.trees.update(store.trees.emptyTree, leaves, writer);
  // Nothing else puts the empty tree into the store.
  if (tree === store.trees.emptyTree) writer.add('tree', Buffer.alloc(0));
  const checkpoint = request.compose({ ...facts, tree });
  const time = Date.parse(checkpoint.createdAt);
  const commit = writer.add('commit', encodeCommit(tree, checkpointMessage(checkpoint), time));
  return { ...checkpoint, files: { ...checkpoint.files, tree, commit } };
}

async function readGiven(
  { files }: AdoptRequest,
  config: Config,
  add: (path: string, data: Buffer) => Promise<void>,
): Promise<Omit<AdoptedFiles, 'tree'>> {
  const exclusions = new Exclusions(config.exclude);
  const same = new Map(collisions(files.map(({ path }) => path)).map(({ path, reason }) => [path, reason]));
  const paths: string[] = [];
  const skipped: AdoptedFiles['skipped'] = [];
  for (const { path, read } of files) {
    const why = unsafePath(path) ?? (exclusions.why(path) === null ? same.get(path) : 'excluded');
    if (why !== undefined) {
      skipped.push({ path, reason: why });
      continue;
    }
    let data: Buffer;
    try {
      data = Buffer.from(await read());
    } catch (error) {
      // The other files of that moment are worth having without it.
      skipped.push({ path, reason: error instanceof Error ? error.message : String(error) });
      continue;
    }
    if (data.length > config.maxFileSize) skipped.push({ path, reason: 'too-large', size: data.length });
    else {
      await add(path, data);
      paths.push(path);
    }
  }
  return { paths: paths.sort(), skipped };
}
