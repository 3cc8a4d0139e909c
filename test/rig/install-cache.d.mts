export function cacheRoot(env?: Record<string, string | undefined>): string;
export function installOnce(
  folder: string,
  isComplete: () => boolean,
  fill: (temporary: string) => Promise<void> | void,
): Promise<boolean>;
