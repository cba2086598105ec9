/** Agents' conversations that grow while VS Code shows them. Each test continues from the one before. */
import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { before, test } from 'node:test';

import type { Locator } from 'playwright-core';

import { ClaudeFile } from './rig/agents.ts';
import { given, START_PATIENCE, until } from './rig/codeServer.ts';
import { continues, READABLE, Terminal, Workbench } from './rig/workbench.ts';

/** What the user demands, and the agent's summary does not have. */
const RULE = 'Never edit deploy/production.yaml by hand, always go through the script scripts/release.sh.';
const CODEX = '01a200fe-d0db-7e80-8cd1-6853f655651a';
const agents = mkdtempSync(path.join(tmpdir(), 'ullage-agents-'));
const claude = new ClaudeFile(path.join(agents, 'claude'));
const codexFile = path.join(agents, `codex/sessions/2026/11/22/rollout-2026-11-22T10-00-00-${CODEX}.jsonl`);
let vscode: Workbench;

before(async () => {
  mkdirSync(path.dirname(codexFile), { recursive: true });
  const environment = {
    ULLAGE_SERVER: given('ULLAGE_PROGRAM'),
    CLAUDE_CONFIG_DIR: path.join(agents, 'claude'),
    CODEX_HOME: path.join(agents, 'codex'),
  };
  vscode = await Workbench.open('followed', { environment, settings: { ...READABLE, 'terminal.integrated.defaultProfile.linux': 'bash' } });
});
continues(() => vscode, () => { rmSync(agents, { recursive: true, force: true }); });

function codexSays(prompt: string, tokens: number): void {
  const timestamp = new Date().toISOString();
  const said = (role: string, type: string, text: string): object => ({ timestamp, type: 'response_item', payload: { type: 'message', role, content: [{ type, text }] } });
  const usage = { input_tokens: tokens - 10, cached_input_tokens: 0, output_tokens: 10, reasoning_output_tokens: 0, total_tokens: tokens };
  const records = [
    { timestamp, type: 'session_meta', payload: { id: CODEX, timestamp, cwd: vscode.workspace, originator: 'codex_cli_rs', cli_version: '0.169.0', source: 'cli' } },
    { timestamp, type: 'turn_context', payload: { cwd: vscode.workspace, model: 'gpt-5.5', approval_policy: 'never', summary: 'auto' } },
    said('user', 'input_text', prompt),
    said('assistant', 'output_text', 'Done.'),
    { timestamp, type: 'event_msg', payload: { type: 'token_count', info: { total_token_usage: usage, last_token_usage: usage, model_context_window: 200_000 } } },
  ];
  appendFileSync(codexFile, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
}

test('before the user agrees nothing is read and no server runs', async () => {
  claude.say(vscode.workspace, 'Which port does the service use?', 40_000);
  const asked = await vscode.toast(/Show how full your coding agents’ conversations are/);
  await vscode.reads(/^Ullage: follow agents\?$/);
  assert.equal(vscode.serverProcess, undefined);
  await vscode.shot('consent');
  // Closing it is no answer.
  await asked.hover();
  await asked.getByRole('button', { name: /Clear Notification/ }).first().click();
  await vscode.reads(/^Ullage: follow agents\?$/);
});

const consent = (): Locator => vscode.page.locator('.sidebar .welcome-view-content');

test('the view asks the same, and after a no as well as after a reload a click in it is still enough', async () => {
  await vscode.page.locator('.activitybar .action-label[aria-label^="Ullage"]').first().click();
  await consent().getByText(/Show how full your coding agents’ conversations are/).first().waitFor();
  await vscode.shot('consent in the view', 'consent.png');
  await consent().getByRole('button', { name: 'No', exact: true }).click();
  await consent().getByText(/Ullage follows no agent's conversations/).first().waitFor();
  await vscode.reads(/^Ullage$/);
  await vscode.shot('after a no');
  await vscode.status.click();
  await vscode.picks.filter({ hasText: 'Follow them' }).waitFor();
  await vscode.page.keyboard.press('Escape');
  await vscode.page.reload();
  await vscode.status.waitFor({ timeout: START_PATIENCE });
  await consent().getByText(/Ullage follows no agent's conversations/).first().waitFor({ timeout: START_PATIENCE });
  assert.equal(vscode.serverProcess, undefined);
  await consent().getByRole('button', { name: 'Follow Them' }).click();
});

test('after a yes the figure is there without an import, and changes when the file grows', async () => {
  await vscode.reads(/CC 20% · compacts at 84%/, START_PATIENCE);
  claude.say(vscode.workspace, 'And the database?', 92_000);
  await vscode.reads(/CC 46% · compacts at 84%/);
});

test('whether conversations are kept is asked in the tree once the message was closed, and a no ends it', async () => {
  // VS Code hides a message after some seconds, and this closes it wherever it is by then.
  await vscode.clearToasts();
  await vscode.status.click();
  const row = vscode.conversations.filter({ hasText: 'Keep these conversations?' });
  await row.waitFor();
  await vscode.shot('keeping in the tree');
  await row.click();
  await vscode.page.locator('.monaco-dialog-box', { hasText: /Where: .*sessions\.db\.archive/ }).waitFor();
  await vscode.shot('keeping');
  await vscode.confirm('No');
  await row.waitFor({ state: 'detached' });
});

test('a second agent joins it, the fullest first', async () => {
  codexSays('Name the flag.', 24_000);
  await vscode.reads(/CC 46% · Codex 12%/);
  await vscode.context.getByText('Name the flag.').first().waitFor();
  await vscode.shot('two agents', 'tree.png');
});

test('in a narrow window the status bar begins with the fullest, and is inside the window', async () => {
  await vscode.run('Show Explorer', 'View');
  for (const width of [300, 200]) {
    await vscode.page.setViewportSize({ width, height: 600 });
    await vscode.reads(/^CC 46%/);
    await vscode.status.scrollIntoViewIfNeeded();
    await until('it to be inside the window', async () => {
      const box = await vscode.status.boundingBox();
      // VS Code places items at parts of a pixel.
      return box !== null && box.x >= 0 && Math.floor(box.x + box.width) <= width;
    });
  }
  await vscode.page.setViewportSize({ width: 1280, height: 800 });
});

test('a click shows the tree with the fill of each, the fullest first, and how a compaction is told', async () => {
  await vscode.status.click();
  await vscode.conversations.filter({ hasText: /46% .*CC · .*compacts at 84%/ }).waitFor();
  const rows = await vscode.conversations.allInnerTexts();
  assert.match(rows[0] ?? '', /^46%/);
  assert.match(rows[1] ?? '', /^12%/);
  // Each row has its own picture of its fill.
  const pictures = await vscode.page.locator('.sidebar .custom-view-tree-node-item-icon').evaluateAll((icons) => icons.slice(0, 2).map((icon) => getComputedStyle(icon).backgroundImage));
  assert.equal(new Set(pictures).size, 2);
  for (const picture of pictures) assert.match(picture, /^url\("data:image\/svg/);
  await vscode.shot('tree');
});

test('by keys alone another one is chosen, and bar, hover and view tell its figure', async () => {
  await vscode.conversations.first().click();
  await vscode.context.getByText('Which port does the service use?').first().waitFor();
  await vscode.page.keyboard.press('ArrowDown');
  await vscode.page.keyboard.press('Enter');
  await vscode.context.getByText('Name the flag.').first().waitFor();
  await vscode.context.getByText('24K of 200K').first().waitFor();
  await vscode.shot('chosen by keys');
  await vscode.hover(/Codex\S* 12%.*24K of 200K/s);
  await vscode.page.mouse.move(600, 300);
  await vscode.page.keyboard.press('ArrowUp');
  await vscode.page.keyboard.press('Enter');
  await vscode.context.getByText(/Claude Code has this conversation\. Ullage only reads it/).waitFor();
  await vscode.context.getByText('92K of 200K').first().waitFor();
});

test('the Context view grows with the file, and its agent’s compaction becomes a marker', async () => {
  claude.say(vscode.workspace, `Does it restart? ${RULE}`, 100_000);
  await vscode.context.getByText('Does it restart?').first().waitFor();
  claude.compact(vscode.workspace, 167_000, 'This session is being continued. The service uses port 8042.');
  const marker = vscode.context.locator('.marker', { hasText: 'Compacted #1' });
  await marker.first().waitFor();
  await vscode.shot('marker');
});

test('the marker says what the summary left out, lists it, and leads to its message', async () => {
  const { context } = vscode;
  await context.locator('.marker', { hasText: 'Compacted #1' }).first().locator('.marker-head').click();
  await context.locator('.lost > summary', { hasText: /^Left out: \d of your messages/ }).click();
  const rule = context.locator('.lost li', { hasText: RULE }).first();
  await rule.scrollIntoViewIfNeeded();
  await vscode.shot('left out');
  await rule.locator('.number-link').press('Enter');
  await context.locator('.message.archived', { hasText: RULE }).waitFor();
});

test('what was left out is put into the agent’s terminal, and nothing is sent', async () => {
  // The inner shell has the conversation's file open, as an agent has, and takes a paste as agents do.
  const terminal = await Terminal.open(vscode, 'Create New Terminal', `PS1='inside> ' bash --norc 3<'${claude.file}'`);
  await terminal.shows(/^inside>\s*$/m);
  const { context } = vscode;
  const marker = context.locator('.marker', { hasText: 'Compacted #1' }).first();
  await marker.locator('.marker-head').click();
  await marker.locator('.marker-head').click();
  await context.locator('.send-lost').click();
  await terminal.shows(/^> #5 .*Never edit deploy\/production\.yaml/m);
  assert.doesNotMatch(await terminal.screen(), /command not found|No such file/);
  await vscode.shot('given back');
});

test('Compact offers what is possible and changes nothing', async () => {
  await vscode.run('Compact Context…');
  await vscode.answer('the port');
  await vscode.picks.filter({ hasText: 'Copy /compact the port' }).waitFor();
  await vscode.picks.filter({ hasText: 'Fork it, and compact the fork' }).waitFor();
  await vscode.shot('compact');
  await vscode.pick('Copy /compact the port');
  await until('the copied words', async () => (await vscode.page.locator('.statusbar').textContent())?.includes('Copied: /compact the port'));
});

test('a server that is killed comes back with the figure of that time, and the answer stays', async () => {
  const killed = await until('the server', () => vscode.serverProcess);
  process.kill(killed, 'SIGKILL');
  claude.say(vscode.workspace, 'And the one before it?', 150_000);
  await until('another server', () => vscode.serverProcess !== undefined && vscode.serverProcess !== killed);
  await vscode.reads(/CC 75%/);
  assert.equal(await vscode.page.locator('.notification-toast', { hasText: /Show how full/ }).count(), 0);
});
