/** Commands in a whole window: a compaction that is cancelled, the keys, and the search in what a team shares. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';

import type { Locator } from 'playwright-core';

import { Team } from './rig/agents.ts';
import { extensionRoot, given, START_PATIENCE, until } from './rig/codeServer.ts';
import { continues, Workbench } from './rig/workbench.ts';

// Of `what a team shares`, which is skipped without PostgreSQL's server.
const team = await Team.start();

describe('a compaction that is cancelled', () => {
  /** So many turns, about ten million tokens, that the offline summary takes seconds on any machine. */
  const TURNS = 6_000;
  const SETTINGS = { 'ullage.models': { 'gpt-4o': { window: 100_000_000 } } };
  const FIGURES = /~\d+% · [\d.]+M\/100M/;

  let vscode: Workbench;
  let failed = true;

  before(async () => {
    vscode = await Workbench.open('cancel', { settings: SETTINGS, environment: { ULLAGE_SERVER: given('ULLAGE_PROGRAM') } });
    const file = path.join(vscode.workspace, 'long.json');
    writeFileSync(file, JSON.stringify({ model: 'gpt-4o', messages: conversation() }));
    await vscode.run('Import Transcript…');
    await vscode.pick('Choose a file');
    await vscode.answerFile(file);
    await vscode.reads(FIGURES, START_PATIENCE);
    await vscode.toast(/Imported/);
    await vscode.clearToasts();
  });
  beforeEach(async () => {
    failed = true;
    await vscode.runIn('Compact Context…', 'Compact now');
    // The compaction is planned first, which takes a busy machine a while with ten million tokens.
    await vscode.reads(/Compacting… [\d,]+ messages/, START_PATIENCE);
  });
  after(async () => { await vscode.close(failed); });

  test('Cancel Compaction leaves the context as it was', async () => {
    await vscode.run('Cancel Compaction');
    await isAsItWas();
  });

  test('and a click on the status bar', async () => {
    await vscode.shot('compacting');
    await vscode.status.click();
    await isAsItWas();
  });

  async function isAsItWas(): Promise<void> {
    await vscode.reads(FIGURES);
    const driver = await vscode.driver();
    const { result } = await driver.ask<{ sessions: readonly { sessionId: string }[] }>('ullage/session/list', {});
    const sessionId = result.sessions[0]?.sessionId;
    const history = await driver.ask<{ edits: readonly unknown[] }>('ullage/context/history', { sessionId });
    assert.deepEqual(history.result.edits, []);
    const usage = await driver.ask<{ _meta: { ullage: { messagesActive: number } } }>('ullage/context/get', { sessionId });
    assert.equal(usage.result._meta.ullage.messagesActive, 2 * TURNS);
    await vscode.page.locator('.notification-toast').first().waitFor({ state: 'hidden' });
    failed = false;
  }

  function conversation(): readonly { readonly role: string; readonly content: string }[] {
    return Array.from({ length: TURNS }, (_, turn) => turn).flatMap((turn) => [
      { role: 'user', content: `Question ${turn}: ${words(60, (at) => `word${turn}x${at} src/mod${at}/file${turn % 53}.py`)}` },
      { role: 'assistant', content: `Answer ${turn}: ${words(200, (at) => `token${turn}y${at}`)}` },
    ]);
  }

  function words(count: number, word: (at: number) => string): string {
    return Array.from({ length: count }, (_, at) => word(at)).join(' ');
  }
});

describe('the keys', () => {
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
    for (const name of ['Import Transcript…', 'Conversations…']) await actions('Conversations').getByRole('button', { name }).first().waitFor();
    await vscode.page.locator('.sidebar .pane-header', { hasText: 'Context' }).hover();
    await actions('Context').getByRole('button', { name: /More Actions/ }).first().click();
    await vscode.page.locator('.context-view').getByText('Undo Compaction…').first().waitFor();
    await vscode.shot('title');
    await vscode.page.keyboard.press('Escape');
  });
});

describe('what a team shares', () => {
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
});
