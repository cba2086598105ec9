/** A window beside another process of the user's, which follows the agents already. Each test continues from the one before. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { before, test } from 'node:test';

import { ClaudeFile } from './rig/claudeFile.ts';
import { START_PATIENCE, until } from './rig/patience.ts';
import { given } from './rig/places.ts';
import { continues } from './rig/story.ts';
import { Workbench } from './rig/workbench.ts';

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
