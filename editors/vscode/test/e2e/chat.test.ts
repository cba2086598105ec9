/** VS Code's language models and its chat: a model writes summaries, models get tools, and `@ullage` answers. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';

import type { Locator } from 'playwright-core';

import { given, until } from './rig/codeServer.ts';
import { continues, Workbench } from './rig/workbench.ts';

describe("VS Code's models", () => {
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
    // The tail of the sample has all that its user typed; the summary need not say it again.
    assert.match(lost, /Everything that the user typed is in what the last compaction kept, and so are the open tasks and problems, the changed files and the last commit\.$/);
    assert.match(await call('ullage_search', {}), /`query`/);
    for (const text of [found, lost]) assert.ok(Buffer.byteLength(text) <= 4_096, String(Buffer.byteLength(text)));
  });
});

describe('@ullage', () => {
  let vscode: Workbench;

  before(async () => {
    vscode = await Workbench.open('participant', {
      settings: { 'chat.disableAIFeatures': false, 'chat.commandCenter.enabled': false },
      environment: { ULLAGE_SERVER: given('ULLAGE_PROGRAM') },
    });
    await vscode.run('Import the Sample Conversation');
    await vscode.reads(/38K\/200K/);
  });
  continues(() => vscode);

  const input = (): Locator => vscode.page.locator('.interactive-input-part');
  const answers = (): Locator => vscode.page.locator('.interactive-response');

  async function ask(question: string): Promise<void> {
    await vscode.run('Open Chat', 'Chat');
    await input().locator('.monaco-editor.focused').waitFor();
    await vscode.page.keyboard.insertText(question);
    const typed = input().getByText('@ullage').first();
    await typed.waitFor();
    await until('the question to be sent', async () => {
      // Closes the list of what could be meant, in which Enter would choose. It may open again.
      await vscode.page.keyboard.press('Escape');
      await vscode.page.keyboard.press('Enter');
      return typed.waitFor({ state: 'hidden', timeout: 3_000 }).then(() => true, () => false);
    });
  }

  test('it says how full the context is, and its button shows the context', async () => {
    await vscode.run('Open Chat', 'Chat');
    // Without a model, the chat asks for Copilot's account instead of handing the question over.
    await input().getByText('Test echo').first().waitFor();
    await ask('@ullage /context');
    const shows = answers().getByRole('button', { name: 'Show Context' });
    await shows.waitFor();
    await answers().getByText(/38,\d{3} of 200,000 tokens/).first().waitFor();
    await answers().locator('table').getByText('tool results').waitFor();
    await vscode.shot('context');
    await shows.click();
    await vscode.context.getByText('38K of 200K').first().waitFor();
  });

  test('it finds what was said, quoted in lines that wrap', async () => {
    await ask('@ullage /search rounding');
    await answers().locator('blockquote').first().waitFor();
    await vscode.shot('found');
  });

  test('it compacts the conversation, and no message says the same again', async () => {
    await ask('@ullage /compact');
    const answer = answers().getByText(/Compacted \d+ messages: 38K → /).first();
    await answer.waitFor();
    const after = /38K → ([\d.]+K)/.exec((await answer.textContent()) ?? '')?.[1];
    assert.notEqual(after, '38K');
    await vscode.reads(new RegExp(`${after}/200K`.replaceAll('.', '\\.')));
    await vscode.run('Show Notifications', 'Notifications');
    await vscode.page.locator('.notifications-center').waitFor();
    assert.equal(await vscode.page.locator('.notification-list-item', { hasText: 'Compacted' }).count(), 0);
    await vscode.shot('compacted');
  });
});
