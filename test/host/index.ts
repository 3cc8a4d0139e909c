import { writeFileSync } from 'node:fs';
import Mocha from 'mocha';

/** Called by VS Code inside the extension host. Throws when a test fails, so that VS Code reports it too. */
export async function run(): Promise<void> {
  // An editor on a busy machine tells late now and then what a file holds; what is broken fails twice.
  const mocha = new Mocha({ ui: 'bdd', timeout: 60_000, color: false, retries: 1, ...grep() });
  mocha.suite.emit('pre-require', globalThis, '', mocha);
  await import('./activation.test');
  await import('./snapshots.test');
  await import('./tree.test');
  await import('./restore.test');
  await import('./restore-meanwhile.test');
  await import('./plan.test');
  await import('./edit.test');
  await import('./lines.test');
  await import('./settings.test');
  await import('./timeline.test');
  await import('./api.test');
  await import('./task.test');
  await import('./plugin.test');
  await import('./sync.test');
  await import('./import.test');
  await import('./backup.test');
  await import('./terminal.test');
  await import('./folders.test');

  const tests: Array<{ title: string; state: 'passed' | 'failed'; error?: string; duration: number }> = [];
  const retried = new Map<string, string>();
  await new Promise<void>((resolve) => {
    const runner = mocha.run(() => resolve());
    runner.on('pass', (test) => tests.push({ title: test.fullTitle(), state: 'passed', duration: test.duration ?? 0 }));
    runner.on('retry', (test, error) => retried.set(test.fullTitle(), error.stack ?? String(error)));
    // A skipped test proves nothing, and nobody would notice.
    runner.on('pending', (test) =>
      tests.push({ title: test.fullTitle(), state: 'failed', error: 'skipped', duration: 0 }),
    );
    // Hooks that fail are reported here as well, and count.
    runner.on('fail', (test, error: Error) =>
      tests.push({
        title: test.fullTitle(),
        state: 'failed',
        error: error.stack ?? String(error),
        duration: test.duration ?? 0,
      }),
    );
  });
  const file = process.env['HOST_RESULT'];
  if (file !== undefined) writeFileSync(file, JSON.stringify({ tests }, null, 2));
  const retries = process.env['RETRIES_FILE'];
  const passed = new Set(tests.filter((test) => test.state === 'passed').map(({ title }) => title));
  const late = [...retried].filter(([title]) => passed.has(title));
  if (retries !== undefined)
    writeFileSync(retries, JSON.stringify(late.map(([title, error]) => ({ title, tries: 1, errors: [error] }))));
  const failed = tests.filter((test) => test.state === 'failed');
  if (failed.length > 0) throw new Error(`${failed.length} failed`);
}

const grep = (): { grep?: string } =>
  process.env['HOST_GREP'] === undefined ? {} : { grep: process.env['HOST_GREP'] };
