import * as vscode from 'vscode';
import type { TaskSnapshot } from '../core/task-service';
import { statusNames } from '../protocol/task-names';
import { fullTime, relativeTime } from './relative-time';

const ago = ({ savedAt }: TaskSnapshot): string => relativeTime(savedAt, Date.now(), vscode.env.language);

/** The number in the name of a save that nobody named tells a person less than its time. */
const named = ({ name }: TaskSnapshot): boolean => !/^(?:auto|pre-restore)-\d+$/.test(name);

export const saveName = (save: TaskSnapshot): string =>
  named(save) ? save.name : fullTime(save.savedAt, vscode.env.language);

export const saveLabel = (save: TaskSnapshot): string => (named(save) ? save.name : ago(save));

export const saveDescription = (save: TaskSnapshot): string =>
  [
    save.status === null ? '' : statusNames[save.status],
    save.trigger === 'restore' ? 'before a restore' : '',
    named(save) ? ago(save) : '',
  ]
    .filter((part) => part !== '')
    .join(' · ');

export const saveTooltip = (save: TaskSnapshot): string =>
  [save.title ?? '', named(save) ? save.name : '', fullTime(save.savedAt, vscode.env.language)]
    .filter((part) => part !== '')
    .join('\n');
