import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

interface Manifest {
  engines: { vscode: string };
  enabledApiProposals?: string[];
  devDependencies: Record<string, string>;
  contributes?: { menus?: Record<string, unknown>; submenus?: Array<{ id: string }> };
}

const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as Manifest;

/**
 * Menus that need no proposal. The VS Code server the tests run on has the check for proposed API switched off,
 * so a proposed menu would work there, and be ignored in every VS Code a user has.
 */
const stable = new Set([
  'commandPalette',
  'comments/comment/context',
  'comments/comment/title',
  'comments/commentThread/context',
  'comments/commentThread/title',
  'debug/callstack/context',
  'debug/toolBar',
  'debug/variables/context',
  'debug/watch/context',
  'editor/context',
  'editor/context/copy',
  'editor/lineNumber/context',
  'editor/title',
  'editor/title/context',
  'editor/title/run',
  'explorer/context',
  'extension/context',
  'file/newFile',
  'interactive/cell/title',
  'interactive/toolbar',
  'notebook/cell/execute',
  'notebook/cell/title',
  'notebook/toolbar',
  'scm/change/title',
  'scm/resourceFolder/context',
  'scm/resourceGroup/context',
  'scm/resourceState/context',
  'scm/sourceControl',
  'scm/title',
  'terminal/context',
  'terminal/title/context',
  'testing/item/context',
  'testing/item/gutter',
  'testing/item/result',
  'testing/message/content',
  'testing/message/context',
  'timeline/item/context',
  'timeline/title',
  'view/item/context',
  'view/title',
  'webview/context',
]);

const proposedMenus = ({ menus = {}, submenus = [] }: NonNullable<Manifest['contributes']>): string[] => {
  const own = new Set(submenus.map((submenu) => submenu.id));
  return Object.keys(menus).filter((id) => !stable.has(id) && !own.has(id));
};

describe('manifest', () => {
  it('declares no proposed API', () => {
    expect(manifest.enabledApiProposals).toBeUndefined();
  });

  it('uses stable menus and its own submenus only', () => {
    expect(proposedMenus(manifest.contributes ?? {})).toEqual([]);
  });

  it('would notice a proposed menu', () => {
    const menus = { 'view/title': [], 'diffEditor/gutter/hunk': [], mine: [] };
    expect(proposedMenus({ menus, submenus: [{ id: 'mine' }] })).toEqual(['diffEditor/gutter/hunk']);
  });

  it('is compiled against the oldest VS Code it claims to run on', () => {
    expect(manifest.engines.vscode).toBe(`^${manifest.devDependencies['@types/vscode']}`);
  });
});
