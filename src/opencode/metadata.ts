/** Key by key; null removes one. */
export function mergeMetadata(old: Record<string, unknown>, change: Record<string, unknown>): Record<string, unknown> {
  const merged = { ...old, ...change };
  for (const [key, value] of Object.entries(change)) if (value === null) delete merged[key];
  return merged;
}
