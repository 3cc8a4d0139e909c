/**
 * The timeline page. What its document needs (made by src/protocol/timeline-html.ts):
 *   dist/timeline.js             this module and all it imports, as a module script with a nonce
 *   dist/timeline.css            the styles imported here; esbuild writes them beside the script
 *   dist/codicons/codicon.css    icons; its font is beside it. The link has the id vscode-codicon-stylesheet
 *   <checkpoints-timeline>       the one element of the body
 * Allowed sources: the folder of these files for styles, fonts and images; scripts by nonce; nothing else.
 */
import './styles/page.css';
import { vscodeHost } from './host';
import { CheckpointsTimeline } from './view/app';

const page = document.querySelector('checkpoints-timeline');
if (page instanceof CheckpointsTimeline) page.connect(vscodeHost());
