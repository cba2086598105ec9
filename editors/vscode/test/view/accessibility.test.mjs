/** axe-core's rules for every scene of the Context view in every theme: no serious or critical fault may be found. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import axe from 'axe-core';

import { launch } from './browser.mjs';
import { everyScene } from './scenes.mjs';

const GRAVE = ['serious', 'critical'];
/** Milliseconds for all scenes in all themes on a busy machine. */
const PATIENCE = 900_000;
let browser;

before(async () => { browser = await launch(); });
after(() => browser.close());

/** Runs in the page. Returns the serious faults by rule, each with the places where it was found. */
async function faults(grave) {
  const { passes, violations } = await window.axe.run({ rules: { 'target-size': { enabled: true } } });
  // A row that shows its whole content is named by its first line. The rule would have the whole content, often pages,
  // read out as its name.
  const isWholeRow = (rule, target) => rule === 'label-content-name-mismatch' && document.querySelector(target).matches('.row.open, .row.said');
  const found = violations
    .filter(({ id, impact }) => grave.includes(impact) || id === 'heading-order')
    .map(({ id, nodes }) => ({ id, places: nodes.filter(({ target }) => !isWholeRow(id, target[0])).map(({ target, any }) => `${target[0]} ${any[0]?.message ?? ''}`) }))
    .filter(({ places }) => places.length > 0);
  return { passed: passes.length, found };
}

test('the Context view has no serious fault of accessibility', { timeout: PATIENCE }, async (context) => {
  const all = [];
  let rules = 0;
  await everyScene(browser, async (page, name) => {
    // The script is evaluated, as the browser's own tools do, because the page's policy allows no other script.
    await page.evaluate(axe.source);
    const { passed, found } = await page.evaluate(faults, GRAVE);
    rules += passed;
    all.push(...found.map(({ id, places }) => `${name}: ${id}: ${places.slice(0, 3).join('; ')}`));
  });
  context.diagnostic(`${rules} rules passed`);
  assert.deepEqual(all, []);
});
