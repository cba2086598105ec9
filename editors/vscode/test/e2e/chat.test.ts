/** A whole conversation in the Context view, with a model that plays a script. Each test continues from the one before. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { before, test } from 'node:test';

import type { Locator } from 'playwright-core';

import { until } from './rig/patience.ts';
import { given, repository } from './rig/places.ts';
import { continues } from './rig/story.ts';
import { Workbench } from './rig/workbench.ts';

const story = path.join(repository, 'tests/data/chat');
// Small enough that the second file that the model reads fills the window.
const SETTINGS = {
  'ullage.model': 'claude-sonnet-4-5',
  'ullage.models': { 'claude-sonnet-4-5': { window: 5_500 } },
  'ullage.context.clearAt': 0.89,
  'ullage.summary.writer': 'offline',
  'ullage.provider': 'story',
  'ullage.providers': { story: { kind: 'scripted', file: path.join(story, 'story.script') } },
};

let vscode: Workbench;

before(async () => {
  const files = Object.fromEntries(['expiry.py', 'sessions.py'].map((name) => [name, readFileSync(path.join(story, name), 'utf8')]));
  vscode = await Workbench.open('chat', { settings: SETTINGS, files, environment: { ULLAGE_SERVER: given('ULLAGE_PROGRAM') } });
  await vscode.run('New Session');
  await vscode.answer('token expiry');
  await vscode.run('Show Context');
});
continues(() => vscode);

const box = (): Locator => vscode.context.getByRole('textbox', { name: 'Ask the model' });
const stop = (): Locator => vscode.context.getByRole('button', { name: 'Stop the answer' });
const rows = (text: string | RegExp): Locator => vscode.context.getByRole('treeitem').filter({ hasText: text });

async function ask(text: string): Promise<void> {
  await box().fill(text);
  await box().press('Enter');
}

/** Waits for the end of the answer, and until the list shows it from the transcript. */
async function ended(): Promise<void> {
  await stop().waitFor({ state: 'hidden' });
  await vscode.context.locator('.live').first().waitFor({ state: 'hidden' });
}

test('with a model the prompt box takes a prompt, and its answer streams into the list', async () => {
  await until('the box', async () => box().isEnabled());
  await ask('How does the code decide that a token has expired?');
  await rows('How does the code decide').waitFor();
  await vscode.context.locator('.assistant.live').waitFor();
  await stop().waitFor();
});

test('the user is asked before the model reads a file, and need not be asked again', async () => {
  const card = vscode.context.locator('.questions');
  await card.getByText('Read expiry.py?').waitFor();
  // The focus has stayed where the prompt was typed.
  assert.ok(await box().evaluate((element) => element.ownerDocument.activeElement === element));
  await vscode.shot('asked for permission');
  await until('the digit to be an answer', async () => {
    // A digit that comes with the card is typed, because it may belong to a prompt.
    await box().fill('');
    await box().press('2');
    return (await box().inputValue()) === '';
  });
  await card.waitFor({ state: 'hidden' });
  assert.equal(await box().inputValue(), '');
  await ended();
});

test('its tool call reads a file of the folder, its thinking is folded, and nothing is shown twice', async () => {
  await rows('expiry.py').waitFor();
  await rows('30 seconds early').waitFor();
  assert.equal(await rows('How does the code decide').count(), 1);
  assert.equal(await rows("I'll read the file").count(), 1);
  assert.equal(await rows('30 seconds early').count(), 1);
  assert.equal(await rows('30 seconds early').locator('strong').innerText(), '30 seconds early');
  assert.equal(await vscode.context.locator('.thought').first().getAttribute('open'), null);
  await vscode.shot('answered');
});

test('a context that fills up in the middle of a turn is compacted, and the answer continues after the marker', async () => {
  await ask('And what else keeps a token?');
  await rows('keeps the token of each device').waitFor();
  await ended();
  const marker = rows(/Compacted #1/);
  await marker.waitFor();
  const keys = await vscode.context.getByRole('treeitem').allInnerTexts();
  const place = (text: string): number => keys.findIndex((row) => row.includes(text));
  assert.ok(place('Compacted #1') < place('keeps the token of each device'), keys.join('\n---\n'));
  assert.equal(await rows('keeps the token of each device').count(), 1);
  await vscode.shot('compacted in the middle');
  await vscode.clearToasts();
});

test('an answer is stopped, what it said is kept, and the prompt that waited is answered', async () => {
  await ask('Now tell me everything.');
  await rows('One. Two. Three.').waitFor();
  await ask('And in one word?');
  await vscode.context.locator('.waiting-text', { hasText: 'And in one word?' }).waitFor();
  await vscode.shot('stop and a prompt that waits', 'chat.png');
  await stop().click();
  await rows('Early.').waitFor();
  await ended();
  const cut = await rows('One. Two. Three.').innerText();
  assert.ok(!cut.includes('very end'), cut);
  await vscode.context.locator('.waiting-text').waitFor({ state: 'hidden' });
  assert.equal(await rows('And in one word?').count(), 1);
});

test('a failure is shown as text, with its remedy', async () => {
  await ask('And once more?');
  const failure = vscode.context.locator('.failure');
  await failure.getByText('the key was refused; set another one').waitFor();
  await failure.getByRole('button', { name: 'Set a key…' }).waitFor();
  await vscode.shot('refused');
  await failure.getByRole('button', { name: 'Dismiss' }).click();
  await failure.waitFor({ state: 'hidden' });
});

test('the arrow brings the last prompt back, and Escape stops nothing when nothing runs', async () => {
  await box().press('ArrowUp');
  assert.equal(await box().inputValue(), 'And once more?');
  await box().press('Escape');
  assert.equal(await box().inputValue(), 'And once more?');
});

test('a view that was hidden shows the conversation again, and what was typed', async () => {
  await box().fill('half of a question');
  await vscode.run('Show Explorer', 'View');
  await vscode.context.locator('.prompt-input').waitFor({ state: 'hidden' });
  await vscode.run('Show Context');
  await rows('Early.').waitFor();
  await until('the draft', async () => (await box().inputValue()) === 'half of a question');
});

test('a server that is killed while it answers leaves what it said, and Retry asks again without piling prompts up', async () => {
  await box().fill('Now count for me.');
  await box().press('Enter');
  await rows('First. Second. Third.').waitFor();
  const pid = await until('the server', () => vscode.serverProcess);
  process.kill(pid, 'SIGKILL');
  const failure = vscode.context.locator('.failure');
  await failure.getByText('The server ended before it answered').waitFor();
  await vscode.context.locator('.broken', { hasText: 'First. Second.' }).waitFor();
  await until('another process', () => vscode.serverProcess !== undefined && vscode.serverProcess !== pid);
  await until('the box', async () => box().isEnabled());
  assert.ok(await vscode.context.locator('.broken', { hasText: 'First. Second.' }).isVisible());
  await vscode.shot('killed while answering');
  await failure.getByRole('button', { name: 'Retry' }).click();
  await stop().waitFor();
  await failure.waitFor({ state: 'hidden' });
  await stop().click();
  await ended();
  assert.equal(await rows('Now count for me.').count(), 1);
});
