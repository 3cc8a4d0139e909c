/** Absolute paths of the tools that the rigs start. */
export interface Tools {
  codeServerEntry: string;
  node24: string;
  opencodeV1: string;
  opencodeV2: string;
  chromium: string;
}

export type Part = 'modules' | 'git' | 'sqlite' | 'chromium' | 'vscode' | 'opencodeV1' | 'opencodeV2' | 'opencode';

export function ensure(parts?: Part[]): Promise<Partial<Tools>>;
export function locate(): Promise<Tools>;
export function locate(parts: Part[]): Promise<Partial<Tools>>;
export function cacheRoot(env?: NodeJS.ProcessEnv): string;
