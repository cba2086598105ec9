/** Keys and the actions in titles: they do what they say, and take nothing from VS Code. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { before, test } from 'node:test';

import type { Locator } from 'playwright-core';

import { until } from './rig/patience.ts';
import { extensionRoot, given } from './rig/places.ts';
import { continues } from './rig/story.ts';
import { Workbench } from './rig/workbench.ts';

interface Binding {
  readonly key: string;
  readonly command: string;
  readonly when?: string;
}

const manifest = JSON.parse(readFileSync(path.join(extensionRoot, 'package.json'), 'utf8')) as { readonly contributes: { readonly keybindings: readonly Binding[] } };
const own = manifest.contributes.keybindings;
let vscode: Workbench;

before(async () => {
  vscode = await Workbench.open('keys', { environment: { ULLAGE_SERVER: given('ULLAGE_PROGRAM') } });
  await vscode.run('Import the Sample Conversation');
  await vscode.reads(/38K\/200K/);
});
continues(() => vscode);

test('no key is one that VS Code or an extension in it has, outside of the preview', async () => {
  const driver = await vscode.driver();
  const { result } = await driver.ask<string>('test/defaultKeys', {});
  const all = JSON.parse(result.slice(result.indexOf('['), result.lastIndexOf(']') + 1).replace(/^\s*\/\/.*$/gm, '').replace(/,(\s*[\]}])/g, '$1')) as readonly Binding[];
  const others = all.filter(({ command, when }) => !command.startsWith('ullage.') && !command.startsWith('-') && when !== 'false');
  assert.ok(others.length > 500, String(others.length));
  assert.ok(all.some(({ command }) => command === 'ullage.showContext'));
  const anywhere = own.filter(({ when }) => !when?.includes('resourceScheme'));
  const clashes = anywhere.flatMap(({ key }) => others.filter((other) => other.key === key || other.key.startsWith(`${key} `) || key.startsWith(`${other.key} `)));
  assert.deepEqual(clashes, []);
});

test('keys show the context, preview a compaction and accept it', async () => {
  await vscode.page.keyboard.press('Control+k');
  await vscode.page.keyboard.press('Shift+U');
  await vscode.context.getByText('38K of 200K').first().waitFor();
  await vscode.page.keyboard.press('Control+k');
  await vscode.page.keyboard.press('Alt+U');
  await vscode.page.locator('.tab', { hasText: '38K →' }).waitFor();
  await vscode.shot('previewed by a key');
  await vscode.page.locator('.monaco-editor .view-lines').first().click();
  await vscode.page.keyboard.press('Control+Enter');
  await vscode.reads(/[\d.]+K\/200K/);
  await vscode.page.locator('.tab', { hasText: '38K →' }).waitFor({ state: 'hidden' });
  await until('the figure after it', async () => !/38K\//.test(await vscode.statusText()));
});

test("the view's titles have what one does with a conversation", async () => {
  const actions = (title: string): Locator => vscode.page.locator('.sidebar .pane-header', { hasText: title }).locator('.actions');
  await vscode.page.locator('.sidebar .pane-header', { hasText: 'Conversations' }).hover();
  for (const name of ['Import Transcript…', 'Sessions…']) await actions('Conversations').getByRole('button', { name }).first().waitFor();
  await vscode.page.locator('.sidebar .pane-header', { hasText: 'Context' }).hover();
  await actions('Context').getByRole('button', { name: /More Actions/ }).first().click();
  await vscode.page.locator('.context-view').getByText('Undo Compaction…').first().waitFor();
  await vscode.shot('title');
  await vscode.page.keyboard.press('Escape');
});
