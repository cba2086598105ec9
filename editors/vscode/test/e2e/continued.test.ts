/** Conversations of an agent that are continued in new sessions. Each test continues from the one before. */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { before, test } from 'node:test';
import assert from 'node:assert/strict';

import { ClaudeFile } from './rig/claudeFile.ts';
import { START_PATIENCE, until } from './rig/patience.ts';
import { given } from './rig/places.ts';
import { continues } from './rig/story.ts';
import { READABLE } from './rig/terminal.ts';
import { Workbench } from './rig/workbench.ts';

const home = mkdtempSync(path.join(tmpdir(), 'ullage-continued-'));
const config = path.join(home, 'claude');
const programs = path.join(home, 'bin');
const claude = new ClaudeFile(config);
let original: Buffer;
let vscode: Workbench;

before(async () => {
  // In place of the agents: what they are called with, and where. That the real ones resume such sessions is tested elsewhere.
  mkdirSync(programs);
  // An agent is offered once it has been started.
  mkdirSync(path.join(home, 'codex'));
  for (const name of ['claude', 'codex']) {
    writeFileSync(path.join(programs, name), '#!/bin/sh\necho "$(basename "$0") got: $* in $PWD"\n');
    chmodSync(path.join(programs, name), 0o755);
  }
  const environment = {
    ULLAGE_SERVER: given('ULLAGE_PROGRAM'),
    CLAUDE_CONFIG_DIR: config,
    CODEX_HOME: path.join(home, 'codex'),
  };
  const settings = {
    ...READABLE,
    'ullage.followAgents': 'on',
    'terminal.integrated.env.linux': { PATH: `${programs}:${process.env['PATH'] ?? ''}` },
    'terminal.integrated.defaultProfile.linux': 'bash',
  };
  vscode = await Workbench.open('continued', { environment, settings });
});
continues(() => vscode, () => { rmSync(home, { recursive: true, force: true }); });

/** The files of the agents' sessions, without the one that is continued. */
function made(): readonly string[] {
  const files = ['claude', 'codex'].flatMap((agent) => {
    try {
      return readdirSync(path.join(home, agent), { recursive: true, encoding: 'utf8' }).map((name) => path.join(home, agent, name));
    } catch {
      return [];
    }
  });
  return files.filter((file) => file.endsWith('.jsonl') && file !== claude.file);
}

/** Waits until the last terminal shows a text. */
async function terminalShows(pattern: RegExp): Promise<void> {
  const rows = vscode.page.locator('.terminal-wrapper.active .xterm').last().locator('.xterm-rows > div');
  let screen = '';
  const look = async (): Promise<boolean> => {
    screen = (await rows.allTextContents()).map((line) => line.replaceAll('\u00a0', ' ').trimEnd()).join('');
    return pattern.test(screen);
  };
  await until(`the terminal to show ${pattern}`, look).catch((error: unknown) => { throw new Error(`${String(error)}; it shows\n${screen}`); });
}

test('each way to continue is shown with its figure, and nothing is written yet', async () => {
  claude.say(vscode.workspace, 'Which port does the service use?', 90_000);
  claude.say(vscode.workspace, 'Never restart it by hand. And the database?', 160_000);
  claude.compact(vscode.workspace, 167_000, 'This session is being continued. The service uses port 8042.');
  claude.say(vscode.workspace, 'Does it restart?', 40_000);
  original = readFileSync(claude.file);
  await vscode.reads(/CC 20%/, START_PATIENCE);
  await vscode.run('Continue in a New Session of an Agent…');
  await vscode.picks.filter({ hasText: 'Before compaction · Claude Code' }).filter({ hasText: /[\d,]+ of 200,000 tokens \(\d+%\)/ }).waitFor();
  await vscode.picks.filter({ hasText: 'Whole · Codex' }).filter({ hasText: /[\d,]+ tokens · \d+ messages/ }).waitFor();
  await vscode.shot('picker');
  await vscode.page.setViewportSize({ width: 300, height: 800 });
  await vscode.shot('picker 300');
  await vscode.page.setViewportSize({ width: 1280, height: 800 });
  await vscode.page.keyboard.press('Escape');
  assert.deepEqual(made(), []);
});

test('the agent’s compaction is undone in a new session, which the terminal resumes in its folder', async () => {
  await vscode.run('Continue in a New Session of an Agent…');
  const before = vscode.picks.filter({ hasText: 'Before compaction · Claude Code' }).filter({ hasText: /of 200,000 tokens/ });
  await before.waitFor();
  await before.click();
  await vscode.quickInput.getByText(/Claude Code: [\d,]+ of 200,000 tokens \(\d+%\)/).waitFor();
  await vscode.shot('preview');
  await vscode.pick('Write it, and resume it in a terminal');
  await terminalShows(/claude got: .*--resume [0-9a-f-]{36}.* in .*workspace/);
  const [file] = made();
  assert.ok(file);
  const written = readFileSync(file, 'utf8');
  assert.match(written, /Never restart it by hand/);
  assert.doesNotMatch(written, /This session is being continued/);
  await vscode.shot('resumed');
});

test('the conversation is continued in another agent, and the original stays as it is', async () => {
  await vscode.run('Continue in a New Session of an Agent…');
  const whole = vscode.picks.filter({ hasText: /Whole · Codex/ }).filter({ hasText: /tokens/ });
  await whole.waitFor();
  await whole.click();
  await vscode.pick('Write it, and resume it in a terminal');
  await terminalShows(/codex got: .*resume.*[0-9a-f-]{36}/);
  assert.equal(made().filter((file) => file.includes('codex')).length, 1);
  assert.deepEqual(readFileSync(claude.file), original);
});
