import type { Port } from '../../src/protocol/envelope';

/** All that the page needs of the world around it; the only place that knows of VS Code. */
export interface PageHost {
  port: Port;
  /** What this view last remembered, also from before it was hidden or the window reloaded. */
  readState(): unknown;
  writeState(state: object): void;
}

interface VsCodeApi {
  postMessage(message: unknown): void;
  getState(): unknown;
  setState(state: unknown): void;
}

declare function acquireVsCodeApi(): VsCodeApi;

export function vscodeHost(): PageHost {
  const api = acquireVsCodeApi();
  return {
    port: {
      post: (message) => api.postMessage(message),
      listen: (listener) => {
        const receive = (event: MessageEvent<unknown>): void => listener(event.data);
        window.addEventListener('message', receive);
        return () => window.removeEventListener('message', receive);
      },
    },
    readState: () => api.getState(),
    writeState: (state) => api.setState(state),
  };
}
