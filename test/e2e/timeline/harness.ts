import { build } from 'esbuild';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import type { Change, Checkpoint, CheckpointId } from '../../../src/core/model';
import { connectTimeline, type TimelineBackend, type TimelineConnection } from '../../../src/protocol/connect';
import { turnEnds, turnStart } from '../../../src/core/turn-ends';
import type { KnownSession } from '../../../src/protocol/rows';
import type { FindQuery, Notice, TimelineAction, WorkspaceRef } from '../../../src/protocol/timeline';
import { timelineCsp, timelineHtml } from '../../../src/protocol/timeline-html';
import { launchBrowser } from '../../rig/browser';
import { locate } from '../../rig/install.mjs';
import { now } from './fixtures';
import { bodyClass, themeCss, type ThemeName } from './themes';

/** The built page on a loopback server, under exactly the policy it has in VS Code, in a real browser. */
export class TimelineRig {
  private constructor(
    readonly folder: string,
    readonly server: Server,
    readonly browser: Browser,
    readonly origin: string,
  ) {}

  static async start(): Promise<TimelineRig> {
    const folder = await mkdtemp(join(tmpdir(), 'timeline-page-'));
    await build({
      entryPoints: ['webview/timeline/main.ts'],
      outfile: join(folder, 'timeline.js'),
      bundle: true,
      minify: true,
      format: 'esm',
      target: 'es2022',
      legalComments: 'none',
      tsconfigRaw: { compilerOptions: { experimentalDecorators: true, useDefineForClassFields: false } },
    });
    for (const file of ['codicon.css', 'codicon.ttf'])
      await cp(join('node_modules/@vscode/codicons/dist', file), join(folder, file));
    const server = createServer((request, response) => {
      void respond(folder, new URL(request.url ?? '/', 'http://127.0.0.1'), request.headers.host ?? '').then(
        ({ status, type, body, csp }) => {
          response.writeHead(status, { 'content-type': type, ...(csp ? { 'content-security-policy': csp } : {}) });
          response.end(body);
        },
      );
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const { chromium } = await locate(['chromium']);
    if (chromium === undefined) throw new Error('Chromium is missing: node test/rig/install.mjs chromium');
    const browser = await launchBrowser(chromium);
    return new TimelineRig(folder, server, browser, `http://127.0.0.1:${port}`);
  }

  async open(backend: FixtureBackend, options: OpenOptions = {}): Promise<OpenPage> {
    const { theme = 'dark', width = 1100, height = 760, placement = 'editor', scale = 1 } = options;
    const context = await this.browser.newContext({
      viewport: { width, height },
      deviceScaleFactor: scale,
      locale: 'en-GB',
      timezoneId: 'UTC',
      reducedMotion: options.motion ? 'no-preference' : 'reduce',
    });
    const page = await context.newPage();
    await page.clock.setFixedTime(now);
    const violations: string[] = [];
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(error.message));
    page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
    await page.exposeFunction('reportViolation', (text: string) => violations.push(text));
    const listeners = new Set<(message: unknown) => void>();
    const sent: unknown[] = [];
    await page.exposeFunction('postToHost', (message: unknown) => {
      sent.push(message);
      for (const listener of listeners) listener(message);
    });
    await page.addInitScript(() => {
      const host = window as unknown as {
        postToHost: (message: unknown) => void;
        reportViolation: (text: string) => void;
        acquireVsCodeApi: () => unknown;
      };
      document.addEventListener('securitypolicyviolation', (event) =>
        host.reportViolation(`${event.effectiveDirective} ${event.blockedURI} ${event.sample}`),
      );
      // Like VS Code's: once per page, and a state that outlives the page.
      let taken = false;
      host.acquireVsCodeApi = () => {
        if (taken) throw new Error('An instance of the VS Code API has already been acquired');
        taken = true;
        return {
          postMessage: (message: unknown) => host.postToHost(JSON.parse(JSON.stringify(message))),
          getState: () => JSON.parse(sessionStorage.getItem('state') ?? 'null') ?? undefined,
          setState: (state: unknown) => sessionStorage.setItem('state', JSON.stringify(state)),
        };
      };
    });
    const connection = connectTimeline(
      {
        post: (message) => {
          // A page that is gone hears nothing, as in VS Code.
          void page
            .evaluate((data) => window.postMessage(data, '*'), message)
            .catch((error: unknown) => {
              if (!page.isClosed() && !/navigation|closed/i.test(String(error))) errors.push(String(error));
            });
        },
        listen: (listener) => {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
      },
      backend,
    );
    await page.goto(`${this.origin}/?theme=${theme}&placement=${placement}`);
    return new OpenPage(page, context, connection, backend, violations, errors, sent);
  }

  async stop(): Promise<void> {
    await this.browser.close();
    await new Promise((resolve) => this.server.close(resolve));
    await rm(this.folder, { recursive: true, force: true });
  }
}

export interface OpenOptions {
  theme?: ThemeName;
  width?: number;
  height?: number;
  placement?: 'view' | 'editor';
  scale?: number;
  motion?: boolean;
}

export class OpenPage {
  constructor(
    readonly page: Page,
    readonly context: BrowserContext,
    readonly connection: TimelineConnection,
    readonly backend: FixtureBackend,
    readonly violations: string[],
    readonly errors: string[],
    readonly sent: unknown[],
  ) {}

  async close(): Promise<void> {
    this.connection.dispose();
    await this.context.close();
  }
}

/** Several steps with a file as one change: what it became, and the lines of all. */
const together = (steps: readonly Change[]): Change[] => {
  const byPath = new Map<string, Change>();
  for (const step of steps) {
    const known = byPath.get(step.path);
    byPath.set(step.path, {
      ...step,
      status: known?.status === 'added' ? 'added' : step.status,
      additions: step.additions + (known?.additions ?? 0),
      deletions: step.deletions + (known?.deletions ?? 0),
    });
  }
  return [...byPath.values()];
};

/** A host that answers from records in memory and notes what it is asked to do. */
export class FixtureBackend implements TimelineBackend {
  readonly actions: TimelineAction[] = [];
  readonly asked: Array<string | null> = [];
  notices: Notice[] = [];
  /** What a running OpenCode says. */
  sessions: KnownSession[] = [];
  operation: { title: string } | null = null;
  workspaces: WorkspaceRef[] = [{ id: 'w1', name: 'shop' }];
  workspace: string | null = 'w1';
  fail: Error | null = null;
  /** Held open until a test lets go. */
  gate: Promise<void> = Promise.resolve();
  readonly #listeners = new Set<() => void>();

  constructor(
    public checkpoints: Checkpoint[],
    readonly changes: ReadonlyMap<string, Change[]> = new Map(),
  ) {}

  async timeline(asked: string | null): Promise<Awaited<ReturnType<TimelineBackend['timeline']>>> {
    this.asked.push(asked);
    await this.gate;
    if (this.fail) throw this.fail;
    const { workspaces, workspace, checkpoints, sessions, operation, notices } = this;
    const ends = turnEnds(checkpoints);
    return { workspaces, workspace, checkpoints, ends, sessions, operation, notices };
  }

  async details(_workspace: string | null, id: CheckpointId): Promise<Awaited<ReturnType<TimelineBackend['details']>>> {
    if (this.fail) throw this.fail;
    const index = this.checkpoints.findIndex((checkpoint) => checkpoint.id === id);
    const checkpoint = this.checkpoints[index];
    if (!checkpoint) throw Object.assign(new Error(`There is no ${id}.`), { reason: 'unknown-reference' });
    const start = turnStart(checkpoint, this.checkpoints);
    const previous = start ?? this.checkpoints[index - 1] ?? null;
    const since = start === undefined ? index : this.checkpoints.indexOf(start) + 1;
    const steps = this.checkpoints.slice(since, index + 1).flatMap((point) => this.changes.get(point.id) ?? []);
    return {
      checkpoint,
      changes: together(steps),
      previous,
      wholeTurn: start !== undefined,
      turn: this.turnBehind(checkpoint),
    };
  }

  private turnBehind(start: Checkpoint): { changes: Change[]; end: string } | null {
    const ended = [...turnEnds(this.checkpoints)].find(([, { first }]) => first.id === start.id);
    if (!ended) return null;
    const [end] = ended;
    const within = this.checkpoints.filter(({ id }) => id > start.id && id <= end);
    return { changes: together(within.flatMap(({ id }) => this.changes.get(id) ?? [])), end };
  }

  async find(_workspace: string | null, { text, file }: FindQuery): Promise<CheckpointId[]> {
    const hit = (value: string | null | undefined, part: string): boolean =>
      Boolean(value?.toLowerCase().includes(part));
    return this.checkpoints
      .filter(
        ({ turn, description, files }) =>
          (text !== undefined && (hit(turn?.prompt, text) || hit(description, text))) ||
          (file !== undefined && files.paths.some((path) => hit(path, file))),
      )
      .map(({ id }) => id);
  }

  async act(_workspace: string | null, action: TimelineAction): Promise<'done'> {
    this.actions.push(action);
    return 'done';
  }

  onDidChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  change(): void {
    for (const listener of this.#listeners) listener();
  }
}

interface Answer {
  status: number;
  type: string;
  body: string | Buffer;
  csp?: string;
}

const nonce = 'bm9uY2Utb2YtdGhlLXRlc3Q';

async function respond(folder: string, url: URL, host: string): Promise<Answer> {
  const origin = `http://${host}`;
  if (url.pathname === '/') {
    const theme = (url.searchParams.get('theme') ?? 'dark') as ThemeName;
    const html = timelineHtml({
      cspSource: origin,
      nonce,
      scriptUri: '/timeline.js',
      styleUri: '/timeline.css',
      codiconUri: '/codicon.css',
      placement: url.searchParams.get('placement') === 'view' ? 'view' : 'editor',
    })
      // VS Code adds the theme itself, before everything of ours.
      .replace('<link', `<link rel="stylesheet" href="/theme-${theme}.css"><link`)
      .replace('<body', `<body class="${bodyClass[theme]}"`);
    return { status: 200, type: 'text/html', body: html, csp: timelineCsp(origin, nonce) };
  }
  if (url.pathname === '/favicon.ico') return { status: 204, type: 'image/x-icon', body: '' };
  const theme = /^\/theme-(.+)\.css$/.exec(url.pathname);
  if (theme) return { status: 200, type: 'text/css', body: themeCss(theme[1] as ThemeName) };
  const types: Record<string, string> = { js: 'text/javascript', css: 'text/css', ttf: 'font/ttf' };
  const name = /^\/([a-z]+\.(js|css|ttf))$/.exec(url.pathname);
  if (!name?.[1]) return { status: 404, type: 'text/plain', body: '' };
  return { status: 200, type: types[name[2] ?? ''] ?? 'text/plain', body: await readFile(join(folder, name[1])) };
}
