import { html, nothing, svg, type SVGTemplateResult, type TemplateResult } from 'lit';
import { classMap } from 'lit/directives/class-map.js';
import type { TaskStatus, Trigger } from '../../../src/core/model';

/** What a point looks like: each trigger has a shape of its own, so that colour only repeats what the shape says. */
export interface Point {
  trigger: Trigger;
  /** Colour of its session's lane; null on the workspace's own. */
  tone: number | null;
  status?: TaskStatus | undefined;
  /** A second ring: somebody named or pinned it. */
  ring?: boolean;
  selected?: boolean;
}

export const toneClass = (tone: number | null): string => (tone === null ? 'tone-none' : `tone-${tone}`);

export function pointShape(point: Point, x: number, y: number): SVGTemplateResult {
  const classes = classMap({
    point: true,
    [`point-${point.trigger}`]: true,
    [toneClass(point.tone)]: true,
    [`status-${point.status ?? 'none'}`]: point.trigger === 'task',
    selected: point.selected ?? false,
  });
  return svg`<g class=${classes} transform="translate(${x} ${y})">
    ${point.ring ? svg`<circle class="ring" r="8"></circle>` : nothing}
    ${shapes[point.trigger](point.status)}
  </g>`;
}

const filled = (d: string): SVGTemplateResult => svg`<path class="fill" d=${d}></path>`;

const shapes: Record<Trigger, (status?: TaskStatus) => SVGTemplateResult> = {
  turn: () => svg`<circle class="fill" r="5"></circle>`,
  tool: () => svg`<circle class="fill" r="2.75"></circle>`,
  idle: () => svg`<circle class="hollow" r="4"></circle>`,
  manual: () => filled('M0 -6.5 6.5 0 0 6.5 -6.5 0Z'),
  agent: () => filled('M0 -7 1.9 -1.9 7 0 1.9 1.9 0 7 -1.9 1.9 -7 0 -1.9 -1.9Z'),
  task: (status) => svg`<rect class="fill" x="-5.5" y="-5.5" width="11" height="11" rx="2.5"></rect>
    <path class="glyph" d=${taskGlyphs[status ?? 'not_started']}></path>`,
  compaction: () => filled('M-5 -6H5L1 0 5 6H-5L-1 0Z'),
  interval: () => svg`<circle class="hollow" r="4.5"></circle><path class="hand" d="M0 -2.5V0H2"></path>`,
  restore: () => filled('M-6.5 0 3.5 -6 3.5 6Z'),
  import: () => filled('M-5.5 -5H5.5L0 5.5Z'),
};

const taskGlyphs: Record<TaskStatus, string> = {
  not_started: 'M-2.5 0H2.5',
  in_progress: 'M-1.5 -2.5 2 0 -1.5 2.5',
  blocked: 'M-2.2 -2.2 2.2 2.2M2.2 -2.2 -2.2 2.2',
  done: 'M-2.8 0.2 -0.8 2.2 2.8 -2',
};

/** Several points in one: a folded turn's tool calls. */
export function foldShape(tone: number | null, x: number, y: number): SVGTemplateResult {
  return svg`<g class="point point-fold ${toneClass(tone)}" transform="translate(${x} ${y})">
    <circle class="fill" cy="-5" r="1.9"></circle><circle class="fill" r="1.9"></circle><circle class="fill" cy="5" r="1.9"></circle>
  </g>`;
}

/** The open end of a lane: a fork in which nothing was done yet. */
export function beginShape(tone: number | null, x: number, y: number): SVGTemplateResult {
  return svg`<g class="point point-begin ${toneClass(tone)}" transform="translate(${x} ${y})">
    <circle class="hollow" r="4"></circle>
  </g>`;
}

/** A point on its own, beside text. */
export const pointIcon = (point: Point): TemplateResult => icon(pointShape(point, 0, 0));
export const foldIcon = (tone: number | null): TemplateResult => icon(foldShape(tone, 0, 0));

const icon = (shape: SVGTemplateResult): TemplateResult =>
  html`<svg class="point-icon" width="18" height="18" viewBox="-9 -9 18 18" aria-hidden="true">${shape}</svg>`;
