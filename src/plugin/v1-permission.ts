/** `allow`, `ask`, `deny`, or one of them for each pattern. */
type Rules = Record<string, unknown>;

export interface PermissionConfig {
  permission?: string | Rules;
  agent?: Record<string, { permission?: string | Rules } | undefined>;
}

/**
 * Turns `allow` into `ask` for one permission, in the rules for all and in those of each agent. Nothing else: a `deny` stays, and who
 * names this very permission has decided.
 */
export function askInsteadOfAllow(config: PermissionConfig, permission: string): void {
  const rules = rulesOf(config.permission);
  // Where no rule speaks of it, OpenCode allows it.
  config.permission = asking(rules, permission, 'allow');
  const named = rules[permission] === 'allow';
  for (const agent of Object.values(config.agent ?? {}))
    if (agent?.permission !== undefined && !named)
      agent.permission = asking(rulesOf(agent.permission), permission, undefined);
}

export function rulesOf(given: string | Rules | undefined): Rules {
  return typeof given === 'string' ? { '*': given } : (given ?? {});
}

/** The last rule that fits decides: so ours, or the one that names the permission, comes last. */
function asking(rules: Rules, permission: string, silent: 'allow' | undefined): Rules {
  const { [permission]: named, ...others } = rules;
  if (named !== undefined) return { ...others, [permission]: named };
  return (decided(others, permission) ?? silent) === 'allow' ? { ...others, [permission]: 'ask' } : others;
}

function decided(rules: Rules, permission: string): unknown {
  const fitting = Object.entries(rules).filter(([key]) => fits(key, permission));
  const patterns = fitting.flatMap(([, value]) =>
    Object.entries(typeof value === 'string' ? { '*': value } : (value ?? {})),
  );
  return patterns.findLast(([pattern]) => fits(pattern, 'cp_'))?.[1];
}

/** OpenCode's own wildcards. */
function fits(pattern: string, text: string): boolean {
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}$`, 's').test(text);
}
