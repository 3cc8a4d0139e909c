import type { SessionInfo, SessionMessage } from '../../src/core/sessions';

export function info(id: string, more: Partial<SessionInfo> = {}): SessionInfo {
  return {
    id,
    title: null,
    directory: '/w',
    projectId: null,
    parentId: null,
    fork: null,
    createdAt: 1000,
    updatedAt: 1000,
    archived: false,
    model: null,
    agent: null,
    cost: 0,
    tokens: 0,
    metadata: {},
    revertedFrom: null,
    ...more,
  };
}

export function message(id: string, role: SessionMessage['role'], more: Partial<SessionMessage> = {}): SessionMessage {
  const createdAt = more.createdAt ?? 0;
  return {
    id,
    role,
    type: role === 'other' ? 'idle' : role,
    createdAt,
    completedAt: createdAt,
    text: '',
    synthetic: role === 'other',
    parentId: null,
    model: null,
    agent: null,
    cost: 0,
    tokens: 0,
    error: null,
    reverted: false,
    calls: [],
    files: [],
    ...more,
  };
}

/** `u a a i c u a*` : user, assistant, idle, compaction; a star for unfinished. Times count up from 1, ids are m1, m2, ... */
export function conversation(text: string): SessionMessage[] {
  return text
    .split(' ')
    .filter((word) => word !== '')
    .map((word, index) => {
      const createdAt = index + 1;
      const id = `m${createdAt}`;
      const completedAt = word.endsWith('*') ? null : createdAt;
      const reverted = word.endsWith('-');
      switch (word[0]) {
        case 'u':
          return message(id, 'user', { createdAt, reverted, text: `prompt ${createdAt}` });
        case 'a':
          return message(id, 'assistant', { createdAt, completedAt, reverted });
        case 'c':
          return message(id, 'other', { createdAt, type: 'compaction' });
        default:
          return message(id, 'other', { createdAt });
      }
    });
}
