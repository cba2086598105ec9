/**
 * From the installation to a trusted folder in one window, each part of the product and each kind of fault once. It is what
 * `./scripts/test --all` runs; `--long` also runs the stories, which go through each part in full. Each test continues
 * from the one before.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { before, test } from 'node:test';

import type { Locator } from 'playwright-core';

import { ClaudeFile } from './rig/agents.ts';
import { output, repository, sample, START_PATIENCE, until } from './rig/codeServer.ts';
import { continues, Workbench } from './rig/workbench.ts';

const chat = path.join(repository, 'tests/data/chat');
const MODEL = 'claude-sonnet-4-5';
// In this window the sample is in the warning's range, and stays there because tool results are kept whole.
const SETTINGS = {
  'ullage.model': MODEL,
  'ullage.models': { [MODEL]: { window: 60_000 } },
  'ullage.context.excludeTools': ['read_file', 'write_file', 'edit_file', 'run'],
  // No summary is prepared in the background: the one that is asked for is written while the user looks.
  'ullage.summary.prepareAt': 0.99,
  'ullage.provider': 'story',
  'ullage.providers': { story: { kind: 'scripted', file: path.join(chat, 'walk.script') } },
};
const FULL = /~64% of 60K · compacts at 68%/;

const agents = mkdtempSync(path.join(tmpdir(), 'ullage-agents-'));
const claude = new ClaudeFile(path.join(agents, 'claude'));
const program = path.join(output, 'walk', 'program');
const trace = path.join(output, 'walk', 'program.ran');
let vscode: Workbench;

before(async () => {
  writeProgram();
  const folder = { 'ullage.server.path': program, 'ullage.models': { [MODEL]: { window: 50_000 } }, 'ullage.context.compactAt': 0.5 };
  const files = { '.vscode/settings.json': JSON.stringify(folder), 'expiry.py': readFileSync(path.join(chat, 'expiry.py'), 'utf8') };
  const environment = { CLAUDE_CONFIG_DIR: path.join(agents, 'claude') };
  vscode = await Workbench.open('walk', { restricted: true, settings: SETTINGS, files, environment });
});
continues(() => vscode, () => { rmSync(agents, { recursive: true, force: true }); });

/** Writes the program that the folder's settings name. It leaves a trace and ends, so it is no server. */
function writeProgram(): void {
  mkdirSync(path.dirname(program), { recursive: true });
  rmSync(trace, { force: true });
  writeFileSync(program, `#!/bin/sh\ntouch '${trace}'\n`, { mode: 0o755 });
}

const rows = (text: string | RegExp): Locator => vscode.context.getByRole('treeitem').filter({ hasText: text });
const marker = (): Locator => vscode.context.locator('.marker', { hasText: 'Compacted #1' });

test('without another server the one of the extension is ready, and the one that the folder names is not asked', async () => {
  await vscode.reads(/^Ullage: follow agents\?$/);
  assert.equal(existsSync(trace), false);
});

test('an imported conversation has its figure by the settings of the user, not of the folder', async () => {
  await vscode.run('Import Transcript…');
  await vscode.pick('Choose a file');
  await vscode.answerFile(sample);
  await vscode.toast(/Imported 203 messages \(ullage\)\. Context \d\d% full \(38K of \d\dK\)\. Compacts by itself at \d\d% \(4[01]K\)\./);
  await vscode.reads(FULL);
  await vscode.isOfKind('warning');
  await vscode.clearToasts();
  const hover = await vscode.hover('38,164 of 60,000 tokens');
  await hover.filter({ hasText: 'Restricted: this folder is not trusted' }).waitFor();
  await vscode.shot('hover');
  await vscode.page.mouse.move(600, 300);
  assert.equal(existsSync(trace), false);
});

test('a compaction is cancelled while its summary is written, and leaves the context as it was', async () => {
  await vscode.run('Show Context');
  await vscode.runIn('Compact Context…', 'Compact now');
  await vscode.context.locator('.writing', { hasText: 'Add token refresh to the login service' }).waitFor();
  await vscode.reads(/Compacting… 1\d\d messages/);
  await vscode.shot('writing');
  await vscode.status.click();
  await vscode.reads(FULL);
  await vscode.context.getByText('64%').first().waitFor();
  assert.equal(await marker().count(), 0);
});

test('a summary that the model refuses is written offline, and its marker opens to it', async () => {
  await vscode.runIn('Compact Context…', 'Compact now');
  await vscode.toast(/The model's summary failed \(.+\)\. Used the offline summary instead: 38K → [\d.]+K/);
  await vscode.reads(/~\d+% · [\d.]+K\/60K/);
  await vscode.isOfKind('normal');
  await until('the marker', async () => {
    if ((await marker().count()) > 0) return true;
    await vscode.context.locator('.conversation').evaluate((list) => { list.scrollTop -= 200; });
    return false;
  });
  if (!(await marker().first().getAttribute('class'))?.includes('open')) await marker().locator('.marker-head').click();
  await marker().getByText('Files, by what became of them').first().waitFor();
  await vscode.clearToasts();
  await vscode.shot('compacted');
});

test('an undo says what comes back, and brings it back', async () => {
  await vscode.run('Undo Compaction…');
  await vscode.page.locator('.monaco-dialog-box').getByText(/Brings back 1\d\d messages, \d+K tokens; the context will be at 64%/).waitFor();
  await vscode.confirm('Undo');
  await vscode.toast(/Undone: [\d.]+K → 38K/);
  await vscode.reads(FULL);
  await marker().first().waitFor({ state: 'hidden' });
  await vscode.clearToasts();
});

test('a server that is killed comes back by itself with the conversation', async () => {
  const figure = await vscode.reads(FULL);
  const pid = await until('the server', () => vscode.serverProcess);
  process.kill(pid, 'SIGKILL');
  await until('another process', () => vscode.serverProcess !== undefined && vscode.serverProcess !== pid);
  await until('the figure', async () => (await vscode.statusText()) === figure);
  await rows(/\S/).first().waitFor();
});

test("after a yes an agent's conversation has its figure in the status bar, and the figure follows the file", async () => {
  claude.say(vscode.workspace, 'Which port does the service use?', 40_000);
  await vscode.run('Show Conversations');
  await vscode.pick('Follow them');
  await vscode.reads(/CC 20% · compacts at 84%/, START_PATIENCE);
  claude.say(vscode.workspace, 'And the database?', 92_000);
  await vscode.reads(/CC 46% · compacts at 84%/);
});

test("once the folder is trusted its settings' program is what runs", async () => {
  assert.equal(existsSync(trace), false);
  await vscode.run('Manage Workspace Trust', 'Workspaces');
  await vscode.page.getByRole('button', { name: 'Trust', exact: true }).first().click();
  await vscode.reads(/Ullage: stopped/);
  assert.equal(existsSync(trace), true);
});
