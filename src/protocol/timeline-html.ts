export interface TimelineHtmlOptions {
  /** `webview.cspSource`. */
  cspSource: string;
  /** A fresh random one per page. */
  nonce: string;
  /** dist/timeline.js, dist/timeline.css and dist/codicons/codicon.css as webview addresses. */
  scriptUri: string;
  styleUri: string;
  codiconUri: string;
  /** Where the page stands: as an editor it has room to itself. */
  placement?: 'view' | 'editor';
}

export function timelineCsp(cspSource: string, nonce: string): string {
  return [
    `default-src 'none'`,
    `font-src ${cspSource}`,
    `img-src ${cspSource}`,
    `style-src ${cspSource}`,
    `script-src 'nonce-${nonce}'`,
  ].join('; ');
}

/** The whole document of the timeline page: everything else is drawn by its script. */
export function timelineHtml(options: TimelineHtmlOptions): string {
  const { cspSource, nonce, scriptUri, styleUri, codiconUri, placement = 'view' } = options;
  // vscode-elements find the icon font by this link's id.
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${escape(timelineCsp(cspSource, nonce))}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Checkpoints Timeline</title>
<link rel="stylesheet" id="vscode-codicon-stylesheet" href="${escape(codiconUri)}">
<link rel="stylesheet" href="${escape(styleUri)}">
</head>
<body data-placement="${placement}">
<checkpoints-timeline></checkpoints-timeline>
<script type="module" nonce="${escape(nonce)}" src="${escape(scriptUri)}"></script>
</body>
</html>
`;
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

const escape = (text: string): string => text.replace(/[&<>"]/g, (character) => entities[character] ?? character);
