import type * as vscode from 'vscode';

/** Every sign that Markdown, HTML, an icon or an address is made of; `https:` alone would become a link. */
const signs = /[!-/:-@[-`{-~]/g;

/**
 * Somebody's text in a tooltip, as plain text: neither Markdown nor icons of theirs have any effect. VS Code's own `appendText` leaves out what looks like
 * HTML (`<div>` in a prompt), puts backslashes into addresses, and joins the words by no-break spaces, so that a long text is broken anywhere.
 */
export const appendPlain = (to: vscode.MarkdownString, text: string): vscode.MarkdownString =>
  to.appendMarkdown(
    text
      .replace(signs, (sign) => `&#${sign.charCodeAt(0)};`)
      // Indented lines mean something in Markdown, and a single line end means nothing.
      .replace(/[^\S\n]+/g, ' ')
      .replace(/^ +/gm, '')
      .replace(/\n/g, '\n\n'),
  );
