/** `@ullage` in VS Code's own chat: it is offered, answers about the conversation, and compacts it. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';

import type { Locator } from 'playwright-core';

import { until } from './rig/patience.ts';
import { given } from './rig/places.ts';
import { continues } from './rig/story.ts';
import { Workbench } from './rig/workbench.ts';

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
