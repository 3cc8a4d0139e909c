import { appendFileSync } from 'node:fs';
import plugin from '../../src/plugin/main';

/** Our plugin as OpenCode loads it, with a clock on what it does before a tool call. Writes one number a line. */
const timed =
  <A extends unknown[]>(before: (...args: A) => Promise<void>) =>
  async (...args: A): Promise<void> => {
    const start = performance.now();
    await before(...args);
    appendFileSync(process.env.BENCH_TIMES ?? '', `${performance.now() - start}\n`);
  };

type Before = (...args: unknown[]) => Promise<void>;
type Hook = (name: string, handler: Before) => unknown;

export default {
  id: plugin.id,
  server: async (input: Parameters<typeof plugin.server>[0]): Promise<Record<string, unknown>> => {
    const hooks = await plugin.server(input);
    const name = 'tool.execute.before';
    return { ...hooks, [name]: timed(hooks[name] as Before) };
  },
  setup: (context: unknown): Promise<unknown> => plugin.setup(withClock(context)),
};

/** OpenCode 2 hands out its hooks by a method: only that one is another. */
function withClock(context: unknown): unknown {
  const tool = (context as { tool?: { hook?: Hook } } | null)?.tool;
  if (!tool?.hook) return context;
  const hook: Hook = (name, handler) => tool.hook?.(name, name === 'execute.before' ? timed(handler) : handler);
  return replaced(context as object, { tool: replaced(tool, { hook }) });
}

function replaced<T extends object>(target: T, parts: Record<string, unknown>): T {
  return new Proxy(target, {
    get: (from, key) => {
      if (typeof key === 'string' && key in parts) return parts[key];
      const value: unknown = Reflect.get(from, key);
      return typeof value === 'function' ? (value.bind(from) as unknown) : value;
    },
  });
}
