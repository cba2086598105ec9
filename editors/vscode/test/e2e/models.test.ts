/** VS Code's own models: chosen without a key, one writes summaries. The tests' extension offers them. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';

import type { Locator } from 'playwright-core';

import { given } from './rig/places.ts';
import { continues } from './rig/story.ts';
import { Workbench } from './rig/workbench.ts';

let vscode: Workbench;

before(async () => {
  const settings = { 'chat.disableAIFeatures': false, 'chat.commandCenter.enabled': false };
  vscode = await Workbench.open('models', { settings, environment: { ULLAGE_SERVER: given('ULLAGE_PROGRAM') } });
});
continues(() => vscode);

const rows = (text: string | RegExp): Locator => vscode.context.getByRole('treeitem').filter({ hasText: text });

test("the picker lists VS Code's models, and one is chosen without any key", async () => {
  await vscode.run('Choose a Model for Summaries…');
  await vscode.picks.filter({ hasText: 'from VS Code: Test echo' }).waitFor();
  await vscode.shot('choose a model');
  await vscode.pick('from VS Code: Test summarizer');
});

test('a model of VS Code writes the summary of a compaction', async () => {
  await vscode.run('Import the Sample Conversation');
  await vscode.reads(/38K\/200K/);
  await vscode.run('Show Context');
  await vscode.runIn('Compact Context…', 'Compact now');
  await vscode.hasRead(/✓/);
  const marker = rows(/Compacted #1/);
  await marker.waitFor();
  await vscode.shot('summary by a model of VS Code');
  assert.match(await marker.innerText(), /Mend the deadlock/);
});

test('language models get tools that search the conversation, with at most 4 KB that are quoted', async () => {
  const driver = await vscode.driver();
  const call = async (name: string, input: object): Promise<string> => (await driver.ask<string>('test/invokeTool', { name, input })).result;
  const found = await call('ullage_search', { query: 'token refresh' });
  assert.match(found, /#\d+/);
  const [reference] = /#\d+/.exec(found) ?? [''];
  assert.match(await call('ullage_open', { ref: reference }), /token/i);
  assert.match(await call('ullage_context', {}), /of 200,000 tokens/);
  const lost = await call('ullage_lost', {});
  assert.match(lost, /#\d+|Everything that the user typed/);
  assert.match(await call('ullage_search', {}), /`query`/);
  for (const text of [found, lost]) assert.ok(Buffer.byteLength(text) <= 4_096, String(Buffer.byteLength(text)));
});
