import { messageOf } from '../context';
import { kindCalled } from '../kinds';
import type { Answer, Call } from '../driven';

/** `node engine.js ENGINE TREE STORE`: one engine, told what to do by messages, which times each call itself. */
const [name, tree = '', store = ''] = process.argv.slice(2);
const engine = kindCalled(name).open({ tree, store });

async function answer({ method, args }: Call): Promise<Answer> {
  const act = engine[method] as ((...given: unknown[]) => Promise<unknown>) | undefined;
  const start = performance.now();
  try {
    if (act === undefined) throw new Error(`${name} has no ${method}`);
    const value = await act.apply(engine, args);
    return { ms: performance.now() - start, value };
  } catch (error) {
    return { ms: performance.now() - start, error: messageOf(error) };
  }
}

process.on('message', (call: Call) => {
  void answer(call).then((said) => {
    process.send?.(said);
    if (call.method === 'close') process.disconnect();
  });
});
