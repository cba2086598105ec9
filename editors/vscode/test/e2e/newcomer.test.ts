/** The README's promise to a new user. `scripts/bench editors` holds it to its two minutes. */
import { test } from 'node:test';

import { newcomer } from './rig/agents.ts';

test('a newcomer sees how full the context is, without a key', { timeout: 1_200_000 }, async (context) => {
  const { build, firstUsage, agentsFigure } = await newcomer();
  context.diagnostic(`the .vsix: ${build.toFixed(1)} s; from opening the window to the figure: ${firstUsage.toFixed(1)} s`);
  context.diagnostic(`from choosing the .vsix to the figure of an agent's conversation: ${agentsFigure.toFixed(1)} s`);
});
