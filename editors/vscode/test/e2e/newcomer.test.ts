/** The README's promise to a new user. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { newcomer } from './rig/newcomer.ts';

/** Seconds that a new user has to wait at most, in total. */
const PROMISED = 120;

test('a newcomer sees how full the context is within two minutes, without a key', { timeout: 420_000 }, async (context) => {
  const { build, firstUsage } = await newcomer();
  context.diagnostic(`the .vsix: ${build.toFixed(1)} s; from opening the window to the figure: ${firstUsage.toFixed(1)} s`);
  assert.ok(build + firstUsage < PROMISED, `it took ${(build + firstUsage).toFixed(0)} s`);
});
