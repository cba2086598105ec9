/** What a user's team shares, searched and opened. Each test continues from the one before. */
import { before, test } from 'node:test';
import assert from 'node:assert/strict';

import { START_PATIENCE, until } from './rig/patience.ts';
import { given } from './rig/places.ts';
import { continues } from './rig/story.ts';
import { Team } from './rig/team.ts';
import { Workbench } from './rig/workbench.ts';

const team = await Team.start();
const skip = team === undefined && 'PostgreSQL’s server is not installed';
let vscode: Workbench | undefined;

before(async () => {
  if (!team) return;
  const settings = { 'ullage.search.teamArchive': team.archive };
  vscode = await Workbench.open('team', { environment: { ULLAGE_SERVER: given('ULLAGE_PROGRAM') }, settings });
});
continues(() => vscode, () => team?.stop());

test('while the user types, each hit says whose it is, from which conversation and folder', { skip }, async () => {
  assert.ok(team && vscode);
  await vscode.run('Search…');
  await vscode.shot('asked');
  await vscode.quickInput.locator('input').first().fill('which port does the proxy need');
  const hits = vscode.picks.filter({ hasText: team.owner });
  await hits.filter({ hasText: '/srv/weather' }).first().waitFor({ timeout: START_PATIENCE });
  await vscode.shot('hits');
  await vscode.page.setViewportSize({ width: 300, height: 800 });
  await vscode.shot('hits 300');
  await vscode.page.setViewportSize({ width: 1280, height: 800 });
});

test('a hit is opened whole, also what the list had no room for', { skip }, async () => {
  assert.ok(team && vscode);
  await vscode.pick('#2 assistant');
  await vscode.page.locator('.tab').filter({ hasText: `${team.owner} #2 assistant` }).waitFor();
  const lines = vscode.page.locator('.editor-instance .view-line');
  await lines.filter({ hasText: 'The proxy needs' }).waitFor();
  await vscode.shot('opened');
  await vscode.page.keyboard.press('Control+End');
  await lines.filter({ hasText: 'staging-60' }).waitFor();
  await vscode.shot('end');
});

/** Searches and waits until the list's title says something. */
async function searched(words: string, said: RegExp): Promise<void> {
  assert.ok(vscode);
  await vscode.run('Search…');
  await vscode.quickInput.locator('input').first().fill(words);
  const title = vscode.quickInput.locator('.quick-input-title');
  await until(`the list to say ${said}`, async () => said.test((await title.textContent()) ?? ''), START_PATIENCE);
}

test('the list says that nothing was found, and that the archive is away', { skip }, async () => {
  assert.ok(team && vscode);
  await searched('zeppelin', /0 found/);
  await vscode.shot('nothing');
  await vscode.page.keyboard.press('Escape');
  await team.stop();
  await searched('proxy', /PostgreSQL at this machine/);
  await vscode.shot('away');
  await vscode.page.keyboard.press('Escape');
});
