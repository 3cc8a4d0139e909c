import * as vscode from 'vscode';

/**
 * Somebody's text in a tooltip, as plain text: neither Markdown nor icons of theirs have any effect. VS Code's own `appendText` joins the words by
 * no-break spaces, and a long text is then broken anywhere, in the middle of words, too.
 */
export const appendPlain = (to: vscode.MarkdownString, text: string): vscode.MarkdownString =>
  to.appendMarkdown(
    new vscode.MarkdownString('', to.supportThemeIcons)
      .appendText(text)
      .value.replace(/(?:&nbsp;)+/g, ' ')
      // Indented lines and numbers at their beginning mean something where spaces are spaces.
      .replace(/^ +/gm, '')
      .replace(/^(\d+)\./gm, '$1\\.'),
  );
