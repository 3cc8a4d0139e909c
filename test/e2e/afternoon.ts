import type { WorkspaceApi } from '../../src/core/api';
import { openWorkspace } from '../../src/git/open';
import type { VsCodeSession } from '../rig/vscode-session';

/** The store that the extension in a test's VS Code uses, seen by another process. */
export const withStore = async <T>(session: VsCodeSession, work: (api: WorkspaceApi) => Promise<T>): Promise<T> => {
  const api = await openWorkspace({ directory: session.folder, env: session.server.env });
  try {
    return await work(api);
  } finally {
    await api.close();
  }
};

export const project: Record<string, string> = {
  'README.md': '# Shop\n\nA small shop.\n',
  'package.json': '{ "name": "shop" }\n',
  'src/cart.ts': [
    'export interface Item {',
    '  name: string;',
    '  price: number;',
    '  count: number;',
    '}',
    '',
    'export function total(items: Item[]): number {',
    '  return items.reduce((sum, item) => sum + item.price * item.count, 0);',
    '}',
    '',
    'export function describe(item: Item): string {',
    '  return `${item.count} x ${item.name}`;',
    '}',
    '',
  ].join('\n'),
  'src/checkout/pay.ts': 'export const pay = () => true;\n',
};

const session = (id: string, title: string, parent: string | null = null) => ({
  id,
  messageId: null,
  messageCount: 4,
  title,
  parent,
});
const turn = (number: number, prompt: string) => ({
  number,
  prompt,
  model: 'claude-sonnet',
  agent: 'build',
  cost: 0.0213,
  tokens: 12_345,
});

/** Two sessions of an agent, one forked from the other, and checkpoints by hand: the afternoon that the screenshots show. */
export const playAfternoon = (at: VsCodeSession): Promise<void> =>
  withStore(at, async (api) => {
    const shop = session('ses_shop', 'Add discounts to the cart');
    await api.create({ name: 'Before the agent' });
    const first = turn(1, 'Add a discount to total() and cover it with tests');
    await api.create({ trigger: 'turn', session: shop, turn: first });
    const cart = project['src/cart.ts'] ?? '';
    await at.write(
      'src/cart.ts',
      cart.replace('0);', '0) * (1 - discount);').replace('items: Item[])', 'items: Item[], discount = 0)'),
    );
    await api.create({
      trigger: 'tool',
      session: shop,
      turn: first,
      cause: { tool: 'write', callId: 'c1', paths: ['test/cart.test.ts'] },
    });
    await at.write('test/cart.test.ts', "import { total } from '../src/cart';\n\ntotal([], 0.1);\n");
    await api.create({ trigger: 'idle', session: shop, turn: first });
    const next = turn(2, 'Now rename describe to label everywhere');
    await api.create({ trigger: 'turn', session: shop, turn: next });
    await at.write('src/cart.ts', (await at.read('src/cart.ts')).replace('describe', 'label'));
    await at.remove('src/checkout/pay.ts');
    await api.create({
      trigger: 'idle',
      session: shop,
      turn: next,
      task: { title: 'Discounts', status: 'in_progress' },
    });
    await api.create({ session: shop, trigger: 'agent', name: 'Tests are green' });
    const fork = session('ses_fork', 'Add discounts to the cart (fork)', 'ses_shop');
    await api.create({ trigger: 'turn', session: fork, turn: turn(1, 'Try it with a coupon class instead') });
  });
