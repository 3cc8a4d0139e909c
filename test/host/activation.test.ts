import * as assert from 'node:assert/strict';
import * as vscode from 'vscode';

describe('activation', () => {
  it('finds the workspace', () => {
    assert.equal(vscode.workspace.workspaceFolders?.length, 2);
  });
});
