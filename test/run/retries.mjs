// A reporter for vitest: which tests passed only at a later try, and why the earlier ones failed.
import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';

export default class Retries {
  retried = [];

  onInit(vitest) {
    this.root = vitest.config.root;
  }

  onTestCaseResult(test) {
    const tries = test.diagnostic()?.retryCount ?? 0;
    if (tries === 0) return;
    const errors = (test.result().errors ?? []).map((error) => error.stack ?? error.message);
    this.retried.push({ title: `${relative(this.root, test.module.moduleId)} > ${test.fullName}`, tries, errors });
  }

  onTestRunEnd() {
    const file = process.env['RETRIES_FILE'];
    if (file) writeFileSync(file, JSON.stringify(this.retried, undefined, 2));
  }
}
