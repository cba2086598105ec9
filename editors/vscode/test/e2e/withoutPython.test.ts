/** A machine that has no Python: the package says so without alarm, and gets one by one click where a program can. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { before, test } from 'node:test';

import { ClaudeFile } from './rig/claudeFile.ts';
import { START_PATIENCE } from './rig/patience.ts';
import { extensionRoot, given, OFFLINE } from './rig/places.ts';
import { continues } from './rig/story.ts';
import { Workbench } from './rig/workbench.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'ullage-without-python-'));
const [programs, config] = [path.join(folder, 'bin'), path.join(folder, 'claude')];
let vscode: Workbench;

before(async () => {
  linkPrograms();
  // Unless it was started from a terminal, VS Code asks a login shell for the programs' folders.
  const environment = { ...OFFLINE, VSCODE_CLI: '1', PATH: programs, CLAUDE_CONFIG_DIR: config };
  vscode = await Workbench.open('without Python', { installed: false, environment });
  new ClaudeFile(config).say(vscode.workspace, 'Which port does the service use?', 40_000);
});
continues(() => vscode, () => { rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 }); });

/** Makes the machine's programs the only ones, without its Pythons, and a `uv` that installs one of them where uv would. */
function linkPrograms(): void {
  mkdirSync(programs);
  const places = (process.env['PATH'] ?? '').split(path.delimiter).filter((place) => /^\/(usr\/(local\/)?)?s?bin$/.test(place));
  const names = new Map(places.reverse().flatMap((place) => readdirSync(place).map((name) => [name, place] as const)));
  for (const [name, place] of names) if (!/^(py|uv|ullage)/.test(name)) symlinkSync(path.join(place, name), path.join(programs, name));
  const python = path.join(path.dirname(given('ULLAGE_PROGRAM')), 'python');
  const machines = execFileSync(python, ['-c', 'import sys; print(sys._base_executable)'], { encoding: 'utf8' }).trim();
  const uv = path.join(programs, 'uv');
  writeFileSync(uv, `#!/bin/sh\n[ "$1 $2" = 'python install' ] && mkdir -p "$HOME/.local/bin" && ln -s '${machines}' "$HOME/.local/bin/python$3"\n`);
  chmodSync(uv, 0o755);
}

test('it says what is missing, and nothing is red', async () => {
  await vscode.run('Install from VSIX...', 'Extensions');
  await vscode.answerFile(path.join(extensionRoot, 'ullage.vsix'));
  await vscode.act(/Show how full your coding agents’ conversations are/, 'Follow them');
  await vscode.toast(/needs Python 3\.11 or newer, and none was found/);
  await vscode.reads(/^Ullage: not set up$/);
  await vscode.isOfKind('normal');
  await vscode.shot('missing');
});

test('one click gets a Python, and the figure comes without a download of the server', async () => {
  await vscode.act(/needs Python 3\.11 or newer/, 'Get Python…');
  await vscode.page.locator('.monaco-dialog-box', { hasText: 'uv python install 3.13' }).waitFor();
  await vscode.shot('ways');
  await vscode.confirm('Install it with uv');
  await vscode.reads(/CC 20%/, START_PATIENCE);
  await vscode.shot('figure');
});
