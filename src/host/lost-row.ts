import { ofRows } from './ids';

/**
 * VS Code calls the command of a row with the row and with what is selected. A row that it draws anew in that moment is
 * unknown to it, and undefined. From the palette there are no arguments at all, and whoever says that nothing is selected has lost nothing.
 */
export const rowIsLost = (id: string, [row, ...more]: readonly unknown[]): boolean => {
  if (!ofRows.has(id) || more.length === 0) return false;
  const [selected] = more;
  if (!Array.isArray(selected)) return row === undefined;
  return selected.length > 0 && (row === undefined || selected.includes(undefined));
};
