export const stateFolder: string;
export function stateFileOf(pid: number): string;
export function findDemo(): string | undefined;
