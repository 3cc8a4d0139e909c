import type * as vscode from 'vscode';

/** Parts of a URI in place of VS Code's own, which only the host suite has. */
export const uri = (path: string, authority = ''): vscode.Uri => {
  const of = (parts: Pick<vscode.Uri, 'scheme' | 'authority' | 'path' | 'query'>): vscode.Uri =>
    ({
      ...parts,
      fsPath: parts.path,
      with: (change: Partial<vscode.Uri>) => of({ ...parts, ...change }),
      toString: () => `${parts.scheme}://${parts.authority}${parts.path}?${parts.query}`,
    }) as vscode.Uri;
  return of({ scheme: 'file', authority, path, query: '' });
};
