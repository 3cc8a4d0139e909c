import { join } from 'node:path';
import type { WorkspaceApi } from '../../src/core/api';
import type { Checkpoint } from '../../src/core/model';
import { nextId } from '../../src/core/ulid';
import { word } from '../corpus';
import { git, gitText } from '../exec';
import { storeGit } from '../gates/store';
import { seeded } from '../random';

/**
 * Puts many checkpoints into a store by its public format: parentless commits under refs/checkpoints/, the record in the
 * message. One real checkpoint is the pattern; sessions, turns, prompts and paths vary as in weeks of use.
 */
export async function fillStore(api: WorkspaceApi, count: number, paths: readonly string[]): Promise<void> {
  const pattern = await api.create({ trigger: 'manual', name: 'Pattern' });
  const gitDir = storeGit(api);
  const message = await gitText(['--git-dir', gitDir, 'log', '-1', '--format=%B', `refs/checkpoints/${pattern.id}`]);
  const stored = JSON.parse(message.slice(message.indexOf('\n\n') + 2)) as Checkpoint;
  const tree = await gitText(['--git-dir', gitDir, 'rev-parse', `refs/checkpoints/${pattern.id}^{tree}`]);
  const random = seeded(99);
  const sentence = (length: number): string => Array.from({ length }, () => word(random)).join(' ');
  const perSession = 50;
  const start = Date.now() - count * 60_000;
  const stream: string[] = [];
  let id: string | null = null;
  for (let number = 0; number < count; number += 1) {
    const when = start + number * 60_000;
    id = nextId(id, when);
    const session = Math.floor(number / perSession);
    const prompt = `${sentence(12)}. ${sentence(30)}`;
    const touched = Array.from({ length: 1 + random.below(15) }, () => random.pick(paths));
    const record: Checkpoint = {
      ...stored,
      id,
      name: `Step ${number}: ${sentence(3)}`,
      title: `Step ${number}`,
      createdAt: new Date(when).toISOString(),
      trigger: 'turn',
      session: {
        id: `ses_${session.toString().padStart(26, '0')}`,
        messageId: `msg_${number.toString().padStart(26, '0')}`,
        messageCount: (number % perSession) * 2,
        title: `Session ${session}: ${sentence(4)}`,
        parent: session % 7 === 6 ? `ses_${(session - 1).toString().padStart(26, '0')}` : null,
      },
      turn: {
        number: number % perSession,
        prompt,
        model: 'provider/model',
        agent: 'build',
        cost: 0.01,
        tokens: 12_000,
      },
      files: { ...stored.files, modified: touched.length, paths: touched },
    };
    const text = `${record.name}\n\n${JSON.stringify(record)}\n`;
    const stamp = `Bench <bench@example.invalid> ${Math.floor(when / 1000)} +0000`;
    stream.push(`commit refs/checkpoints/${id}\nauthor ${stamp}\ncommitter ${stamp}\n`);
    stream.push(`data ${Buffer.byteLength(text)}\n${text}\nM 040000 ${tree} ""\n\n`);
  }
  await git(['--git-dir', gitDir, 'fast-import', '--quiet', '--force'], { input: stream.join('') });
  await git(['--git-dir', gitDir, 'pack-refs', '--all']);
  await api.remove([pattern.id]);
}

/** Where the index of a workspace is kept. */
export const indexFile = (api: WorkspaceApi): string => join(api.folder, 'index.db');
