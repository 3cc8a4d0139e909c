export interface Process {
  pid: number;
  command: string;
}

export interface Ended {
  leader: number;
  code: number | null;
  timedOut: boolean;
  error?: Error;
}

export interface LoggedOptions {
  cwd: string;
  env: NodeJS.ProcessEnv;
  log: string;
  timeoutMs: number;
  echo?: boolean;
  onStart?: (leader: number) => void;
}

export function processesOf(leader: number, marker: string): Process[];
export function leftovers(leader: number, marker: string, graceMs?: number): Promise<Process[]>;
export function endAll(leader: number, marker: string): Promise<void>;
export function runLogged(command: string, args: string[], options: LoggedOptions): Promise<Ended>;
export function onInterrupt(callback: (reason: string) => void): void;
