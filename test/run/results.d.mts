export interface TestResult {
  title: string;
  passed: boolean;
  error?: string;
}

export interface SuiteEnd {
  code?: number | null;
  error?: Error;
  timedOut?: boolean;
  timeoutMs?: number;
  log?: string;
  left?: Array<{ pid: number; command: string }>;
}

export interface Row {
  name: string;
  tests: TestResult[];
  seconds: number;
}

export function fromVitest(file: string, root: string): TestResult[];
export function fromHost(file: string): TestResult[];
export function fromExit(name: string, result: { code: number | null }, log: string): TestResult[];
export function judge(name: string, tests: TestResult[], end: SuiteEnd): TestResult[];
export function count(tests: TestResult[]): { passed: number; failed: number };
export function table(rows: Row[]): string;
export function summary(rows: Row[]): string;
