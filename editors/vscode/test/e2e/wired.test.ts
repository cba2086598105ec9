/** Ullage added to an agent's settings from the first question on, and taken out again. Each test continues from the one before. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { before, test } from 'node:test';
import assert from 'node:assert/strict';

import { ClaudeFile } from './rig/claudeFile.ts';
import { until } from './rig/patience.ts';
import { given } from './rig/places.ts';
import { continues } from './rig/story.ts';
import { Workbench } from './rig/workbench.ts';

/** Two spaces before the name, and no line end: a writer of JSON would keep neither. */
const SETTINGS = '{\n   "model": "opus"}';
const home = mkdtempSync(path.join(tmpdir(), 'ullage-wired-'));
const config = path.join(home, 'claude');
const settings = path.join(config, 'settings.json');
/** The file with the agent's MCP servers, which is not there yet. */
const servers = path.join(config, '.claude.json');
const claude = new ClaudeFile(config);
let vscode: Workbench;

before(async () => {
  mkdirSync(config, { recursive: true });
  writeFileSync(settings, SETTINGS);
  const environment = { ULLAGE_SERVER: given('ULLAGE_PROGRAM'), CLAUDE_CONFIG_DIR: config, CODEX_HOME: path.join(home, 'no-codex') };
  vscode = await Workbench.open('wired', { environment });
});
continues(() => vscode, () => { rmSync(home, { recursive: true, force: true }); });

test('the command shows the change before it is made', async () => {
  claude.say(vscode.workspace, 'Which port does the service use?', 40_000);
  const asked = await vscode.toast(/Show how full your coding agents’ conversations are/);
  await vscode.shot('consent');
  await asked.getByRole('button', { name: 'Follow them' }).click();
  await vscode.run('Give Back What Compactions Take (Wire…)');
  await vscode.toast(/Add this to Claude Code’s settings\?/);
  await vscode.page.locator('.monaco-diff-editor', { hasText: 'SessionStart' }).first().hover();
  await vscode.shot('difference');
  // The editor of both files has no more in the page than its window shows.
  const second = vscode.page.locator('.monaco-diff-editor', { hasText: 'mcpServers' }).first();
  await until('the second file', async () => {
    await vscode.page.mouse.wheel(0, 300);
    return second.isVisible();
  });
  assert.equal(readFileSync(settings, 'utf8'), SETTINGS);
  assert.ok(!existsSync(servers));
});

test('a yes adds the hooks and closes the difference', async () => {
  await vscode.act(/Add this to Claude Code’s settings\?/, 'Add');
  await vscode.toast(/Added to Claude Code\. It takes effect in its next session/);
  const hooks = (JSON.parse(readFileSync(settings, 'utf8')) as { hooks: Record<string, unknown> }).hooks;
  assert.ok('SessionStart' in hooks);
  assert.match(readFileSync(servers, 'utf8'), /"mcp"/);
  await until('the difference to be closed', async () => (await vscode.page.locator('.monaco-diff-editor').count()) === 0);
  await vscode.shot('added');
});

test('the same command takes it out, and restores the settings byte for byte', async () => {
  await vscode.clearToasts();
  await vscode.run('Give Back What Compactions Take (Wire…)');
  await vscode.act(/Claude Code has it already/, 'Take Out…');
  await vscode.act(/Take this out of Claude Code’s settings\?/, 'Take Out');
  await vscode.toast(/Taken out of Claude Code\. .*settings\.json is as it was before/);
  assert.equal(readFileSync(settings, 'utf8'), SETTINGS);
  assert.ok(!existsSync(servers));
});
