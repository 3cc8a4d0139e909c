/** Its session interface (fork, metadata, plugins with one default export) is the oldest one we know. */
export const oldestSupported = '1.18.0';

/** `1.18.33` and `opencode v2.0.15` are what the two generations print. */
export function parseVersion(output: string): string | null {
  return /(?:^|\s|v)(\d+\.\d+\.\d+[\w.+-]*)/.exec(output.trim())?.[1] ?? null;
}

export function isSupported(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.+-]/).map(Number);
  const [oldMajor = 0, oldMinor = 0, oldPatch = 0] = oldestSupported.split('.').map(Number);
  // Builds from source call themselves `local`, or 0.0.0 with a suffix: nobody can say how old they are.
  if (!/^\d/.test(version) || (major === 0 && minor === 0 && patch === 0)) return true;
  return (major - oldMajor || minor - oldMinor || patch - oldPatch) >= 0;
}
