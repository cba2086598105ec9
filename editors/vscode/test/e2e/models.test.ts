/** VS Code's own models: chosen without a key, they answer and write summaries. The tests' extension offers them. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';

import type { Locator } from 'playwright-core';

import { until } from './rig/patience.ts';
import { given } from './rig/places.ts';
import { continues } from './rig/story.ts';
import { Workbench } from './rig/workbench.ts';

let vscode: Workbench;

before(async () => {
  const settings = { 'chat.disableAIFeatures': false, 'chat.commandCenter.enabled': false };
  vscode = await Workbench.open('models', { settings, environment: { ULLAGE_SERVER: given('ULLAGE_PROGRAM') } });
  await vscode.run('New Session');
  await vscode.answer('a chat by a model of VS Code');
  await vscode.run('Show Context');
  await vscode.context.getByText('a chat by a model of VS Code').waitFor();
});
continues(() => vscode);

const box = (): Locator => vscode.context.getByRole('textbox', { name: 'Ask the model' });
const rows = (text: string | RegExp): Locator => vscode.context.getByRole('treeitem').filter({ hasText: text });

async function choose(model: string, use: string): Promise<void> {
  await vscode.run('Choose a Model…');
  await vscode.pick(`from VS Code: ${model}`);
  await vscode.pick(use);
}

async function ask(text: string): Promise<void> {
  await until('the box', async () => box().isEnabled());
  await box().fill(text);
  await box().press('Enter');
}

test("the picker lists VS Code's models, and one is chosen for the session without any key", async () => {
  await vscode.run('Choose a Model…');
  await vscode.picks.filter({ hasText: 'from VS Code: Test echo' }).waitFor();
  await vscode.shot('choose a model');
  await vscode.pick('from VS Code: Test echo');
  await vscode.shot('choose its use');
  await vscode.pick('Answers in this session');
  await until('the box', async () => box().isEnabled());
});

test('its answer streams into the view, and the figure has its limit and the model\'s own count of the prompt', async () => {
  await ask('How are you?');
  await rows('You said How are you?').waitFor();
  const label = await vscode.statusLabel();
  assert.match(label, /40,000/);
  assert.match(label, /stale/);
  await vscode.context.locator('.model', { hasText: /^Test echo$/ }).waitFor();
  await vscode.shot('answered');
});

test('a model out of quota is told in one sentence with what to do', async () => {
  await choose('Test refusing', 'Answers in this session');
  await ask('And now?');
  const failure = vscode.context.locator('.failure');
  await failure.getByText('Test refusing takes no requests now (the quota of this month is used up); try it later, or choose another model.').waitFor();
  await failure.getByRole('button', { name: 'Choose a model…' }).waitFor();
  await vscode.shot('out of quota');
  await failure.getByRole('button', { name: 'Dismiss' }).click();
});

test('a model of VS Code writes the summary of a compaction', async () => {
  await choose('Test summarizer', 'Writes the summaries');
  await vscode.run('Import the Sample Conversation');
  await vscode.reads(/38K\/200K/);
  await vscode.run('Compact Context');
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
  assert.match(lost, /#\d+/);
  assert.match(await call('ullage_search', {}), /`query`/);
  for (const text of [found, lost]) assert.ok(Buffer.byteLength(text) <= 4_096, String(Buffer.byteLength(text)));
});
