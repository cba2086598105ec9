/** A file of tests in one window, in which each test continues from the one before. */
import assert from 'node:assert/strict';
import { after, afterEach, beforeEach } from 'node:test';

import type { Workbench } from './workbench.ts';

/**
 * Says for the whole file what a failure means: there is a screenshot of it, the tests after it fail at once, because
 * they would fail only because of it, and the window's logs are kept. `workbench` returns the window once it is open;
 * `clean` is called after it is closed.
 */
export function continues(workbench: () => Workbench | undefined, clean: () => unknown = () => undefined): void {
  let failed = false;
  beforeEach(() => { assert.ok(!failed, 'an earlier test failed'); });
  afterEach(async (context) => {
    if (failed || !('passed' in context) || context.passed) return;
    failed = true;
    await workbench()?.shot(`failed: ${context.name}`.replace(/[^\w:]+/g, ' '));
  });
  after(async () => {
    await workbench()?.close(failed);
    await clean();
  });
}
