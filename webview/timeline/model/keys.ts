/** What a key means on the list. Pure, so that the whole table can be tested at once. */
export type Intent =
  | { do: 'move'; by: number }
  | { do: 'page'; by: 1 | -1 }
  | { do: 'first' | 'last' | 'open' | 'close' | 'enter' | 'mark' | 'compare' | 'menu' | 'filter' | 'escape' }
  | { do: 'rename' | 'delete' | 'copy' }
  /** A letter begins a filter with it. */
  | { do: 'type'; text: string };

export interface Key {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  shiftKey: boolean;
  altKey: boolean;
}

const plain: Record<string, Intent> = {
  ArrowDown: { do: 'move', by: 1 },
  ArrowUp: { do: 'move', by: -1 },
  PageDown: { do: 'page', by: 1 },
  PageUp: { do: 'page', by: -1 },
  Home: { do: 'first' },
  End: { do: 'last' },
  ArrowRight: { do: 'open' },
  ArrowLeft: { do: 'close' },
  Enter: { do: 'enter' },
  ' ': { do: 'mark' },
  ContextMenu: { do: 'menu' },
  '/': { do: 'filter' },
  Escape: { do: 'escape' },
  F2: { do: 'rename' },
  Delete: { do: 'delete' },
};

export function keyIntent({ key, ctrlKey, metaKey, shiftKey, altKey }: Key): Intent | null {
  const command = ctrlKey || metaKey;
  if (altKey) return null;
  if (command && key === 'Enter') return { do: 'compare' };
  if (command && key.toLowerCase() === 'c') return { do: 'copy' };
  if (command && key === 'ArrowUp') return { do: 'first' };
  if (command && key === 'ArrowDown') return { do: 'last' };
  // The key left of Return on a Mac is Backspace; with Cmd it deletes there.
  if (metaKey && key === 'Backspace') return { do: 'delete' };
  if (command) return null;
  if (shiftKey && key === 'F10') return { do: 'menu' };
  // On many layouts "/" needs Shift.
  if (plain[key] && (!shiftKey || key === '/')) return plain[key];
  return /^[\p{L}\p{N}]$/u.test(key) ? { do: 'type', text: key } : null;
}

/** For people: the same table in words. */
export const keyHelp: Array<[keys: string, what: string]> = [
  ['↑ ↓', 'Move, also by PgUp, PgDn, Home, End'],
  ['→ ←', 'Open and close a turn’s tool calls'],
  ['Enter', 'Details'],
  ['Space', 'Mark two to compare, also by Ctrl+click'],
  ['Ctrl+Enter', 'Compare with working files, also by double click'],
  ['Shift+F10', 'All actions, also by right click'],
  ['A … Z', 'Filter, also by /'],
  ['F2', 'Rename'],
  ['Esc', 'Clear marks, filter, details'],
];

/** Ctrl is Cmd where the keyboard has one. */
export const keyName = (keys: string, mac: boolean): string => (mac ? keys.replace('Ctrl+', '⌘') : keys);
