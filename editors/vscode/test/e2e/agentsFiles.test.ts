/** Conversations in agents' files: continued in new sessions, followed by another process, and Ullage in agents' settings. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { before, describe, test } from 'node:test';

import { ClaudeFile } from './rig/agents.ts';
import { given, START_PATIENCE, until } from './rig/codeServer.ts';
import { continues, READABLE, Workbench } from './rig/workbench.ts';

describe('continued in new sessions', () => {
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
});

describe('followed by another process', () => {
  const home = mkdtempSync(path.join(tmpdir(), 'ullage-follower-'));
  const project = path.join(home, 'project');
  const claude = new ClaudeFile(path.join(home, 'claude'));
  let follower: ChildProcess;
  let vscode: Workbench;

  before(async () => {
    claude.say(project, 'Which port does the service use?', 40_000);
    const environment = { ULLAGE_SERVER: given('ULLAGE_PROGRAM'), CLAUDE_CONFIG_DIR: path.join(home, 'claude'), XDG_DATA_HOME: path.join(home, 'data') };
    follower = spawn(given('ULLAGE_PROGRAM'), ['watch', '--json'], { stdio: 'ignore', env: { ...process.env, HOME: home, ...environment } });
    await until('the live file', () => existsSync(path.join(home, 'data/ullage/sessions.db.live.json')), START_PATIENCE);
    vscode = await Workbench.open('follower', { folder: project, environment, settings: { 'ullage.followAgents': 'on' } });
  });
  continues(() => vscode, () => {
    follower.kill('SIGKILL');
    rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
  });

  test('the figure of the process that follows is shown and grows, and the window needs no server', async () => {
    await vscode.reads(/CC 20% · compacts at 84%/, START_PATIENCE);
    claude.say(project, 'And the database?', 92_000);
    await vscode.reads(/CC 46% · compacts at 84%/);
    assert.equal(vscode.serverProcess, undefined);
  });

  test('when that process ends the window follows by itself', async () => {
    const ended = once(follower, 'exit');
    follower.kill('SIGKILL');
    await ended;
    await until('the server', () => vscode.serverProcess, START_PATIENCE);
    claude.say(project, 'And the cache?', 120_000);
    await vscode.reads(/CC 60% · compacts at 84%/);
  });

  test('the Context view shows the conversation and grows with it', async () => {
    await vscode.run('Show Context');
    await vscode.context.getByText('And the cache?').first().waitFor();
    claude.say(project, 'And the queue?', 130_000);
    await vscode.context.getByText('And the queue?').first().waitFor();
  });
});

describe("in agents' settings", () => {
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
    await vscode.toast(/Added to Claude Code\. It takes effect in its next session, or at once/);
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
});
