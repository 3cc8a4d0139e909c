import type { ChangeStatus } from './model';

/** As git says them. */
export const changeLetters: Record<ChangeStatus, string> = {
  added: 'A',
  modified: 'M',
  deleted: 'D',
  typechange: 'T',
  renamed: 'R',
};
