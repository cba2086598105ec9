/** Agents' conversations that grow while VS Code shows them. Each test continues from the one before. */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { before, test } from 'node:test';
import assert from 'node:assert/strict';

import { ClaudeFile } from './rig/claudeFile.ts';
import { START_PATIENCE, until } from './rig/patience.ts';
import { given } from './rig/places.ts';
import { continues } from './rig/story.ts';
import { READABLE, Terminal } from './rig/terminal.ts';
import { Workbench } from './rig/workbench.ts';

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
  await asked.getByRole('button', { name: 'Follow them' }).click();
});

test('after a yes the figure is there without an import, and changes when the file grows', async () => {
  await vscode.reads(/CC 20% · compacts at 84%/, START_PATIENCE);
  claude.say(vscode.workspace, 'And the database?', 92_000);
  await vscode.reads(/CC 46% · compacts at 84%/);
});

test('a second agent joins it, the fullest first', async () => {
  codexSays('Name the flag.', 24_000);
  await vscode.reads(/CC 46% · Codex 12%/);
  await vscode.shot('two agents');
});

/** Returns whether a row shows a word that it has. Runs in the window, and the row hides what does not fit. */
function shows(row: Element, word: string): boolean {
  const texts = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
  let text = texts.nextNode();
  while (text && !text.textContent?.includes(word)) text = texts.nextNode();
  if (!text) return false;
  const range = document.createRange();
  const at = text.textContent?.indexOf(word) ?? 0;
  range.setStart(text, at);
  range.setEnd(text, at + word.length);
  const { right } = range.getBoundingClientRect();
  for (let around = text.parentElement; around && around !== row.parentElement; around = around.parentElement) {
    if (around.getBoundingClientRect().right < right) return false;
  }
  return true;
}

for (const width of [300, 200]) {
  test(`in a window of ${width} pixels the status bar begins with the fullest, and the list fits`, async () => {
    await vscode.page.setViewportSize({ width, height: 600 });
    await vscode.reads(/^CC 46%/);
    await vscode.status.click();
    const row = vscode.picks.filter({ hasText: /46% Claude Code/ });
    for (const place of [vscode.status, row]) {
      await until('it to be inside the window', async () => {
        const box = await place.boundingBox();
        // VS Code places items at parts of a pixel.
        return box !== null && box.x >= 0 && Math.floor(box.x + box.width) <= width;
      });
    }
    assert.ok(await row.evaluate(shows, '46%'), 'the list shows how full it is');
    await vscode.shot(`list ${width}`);
    await vscode.page.keyboard.press('Escape');
    await vscode.page.setViewportSize({ width: 1280, height: 800 });
  });
}

test('a click lists both with their figures, and the chosen one is shown in the Context view', async () => {
  await vscode.status.click();
  await vscode.picks.filter({ hasText: /46% Claude Code/ }).filter({ hasText: /92K of 200K · compacts at 167K \(84%\)/ }).waitFor();
  await vscode.shot('list');
  await vscode.pick(/46% Claude Code/);
  await vscode.context.getByText('Which port does the service use?').first().waitFor();
  await vscode.context.getByText(/Claude Code has this conversation\. Ullage only reads it/).waitFor();
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
  await vscode.run('Compact Context');
  await vscode.answer('the port');
  await vscode.picks.filter({ hasText: 'Copy /compact the port' }).waitFor();
  await vscode.picks.filter({ hasText: 'Fork it, and compact the fork' }).waitFor();
  await vscode.shot('compact');
  await vscode.pick('Copy /compact the port');
  await until('the copied words', async () => (await vscode.page.locator('.statusbar').textContent())?.includes('Copied: /compact the port'));
});
