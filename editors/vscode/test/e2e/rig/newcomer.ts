/** Follows the README's VS Code section as a new user and measures the time. Ullage is not on the machine, and there is no key. */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { ClaudeFile } from './claudeFile.ts';
import { cleanEnvironment } from './codeServer.ts';
import { START_PATIENCE } from './patience.ts';
import { OFFLINE, repository, sample } from './places.ts';
import { Workbench } from './workbench.ts';

/** Milliseconds that a package manager may take. */
const DOWNLOADS = 600_000;

/**
 * Seconds: to make the .vsix from a fresh checkout, from opening VS Code until it shows the context's figure, and from
 * choosing the .vsix until it shows that of an agent's conversation, with a yes as soon as the user is asked.
 */
export interface Newcomer {
  readonly build: number;
  readonly firstUsage: number;
  readonly agentsFigure: number;
}

export async function newcomer(): Promise<Newcomer> {
  const folder = mkdtempSync(path.join(tmpdir(), 'ullage-newcomer-'));
  try {
    const checkout = copyCheckout(path.join(folder, 'checkout'));
    const build = await timed(() => { makeVsix(checkout, path.join(folder, 'home')); });
    const vsix = path.join(checkout, 'editors/vscode/ullage.vsix');
    return { build, firstUsage: await timed(() => reachUsage(vsix)), agentsFigure: await reachAgent(vsix, path.join(folder, 'claude')) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Copies the files that git knows, as they are now. Other programs may make and delete other files meanwhile. */
function copyCheckout(target: string): string {
  const listed = execFileSync('git', ['ls-files', '-z'], { cwd: repository, encoding: 'utf8' });
  const files = listed.split('\0').filter((file) => file && existsSync(path.join(repository, file)));
  for (const file of files) cpSync(path.join(repository, file), path.join(target, file));
  return target;
}

function makeVsix(checkout: string, home: string): void {
  mkdirSync(home);
  const options = { cwd: path.join(checkout, 'editors/vscode'), env: cleanEnvironment(home), timeout: DOWNLOADS, stdio: 'pipe' } as const;
  execFileSync('npm', ['ci'], options);
  execFileSync('npm', ['run', 'package'], options);
}

async function reachUsage(vsix: string): Promise<void> {
  const workbench = await Workbench.open('newcomer', { installed: false, environment: OFFLINE });
  let failed = true;
  try {
    await workbench.run('Install from VSIX...', 'Extensions');
    await workbench.answerFile(vsix);
    await workbench.run('Show Installed Extensions', 'Extensions');
    await workbench.showsWholePage('Ullage');
    // There is no agent yet that could be followed, so nothing is asked.
    await workbench.reads(/^Ullage$/, START_PATIENCE);
    await workbench.shot('installed');
    await workbench.run('Import Transcript…');
    await workbench.pick('Choose a file');
    await workbench.answerFile(sample);
    await workbench.reads(/\d+% · 38K\/200K/);
    await workbench.shot('usage');
    failed = false;
  } finally {
    await workbench.close(failed);
  }
}

/** Returns the seconds from choosing the package to the figure of a conversation that Claude Code has in `config`. */
async function reachAgent(vsix: string, config: string): Promise<number> {
  const workbench = await Workbench.open('newcomer with an agent', { installed: false, environment: { ...OFFLINE, CLAUDE_CONFIG_DIR: config } });
  let failed = true;
  try {
    new ClaudeFile(config).say(workbench.workspace, 'Which port does the service use?', 40_000);
    await workbench.run('Install from VSIX...', 'Extensions');
    await workbench.answerFile(vsix);
    const taken = await timed(async () => {
      const asked = await workbench.toast(/Show how full your coding agents’ conversations are/);
      await asked.getByRole('button', { name: 'Follow them' }).click();
      await workbench.reads(/CC 20%/);
    });
    failed = false;
    return taken;
  } finally {
    await workbench.close(failed);
  }
}

/** Returns the seconds that the work takes. */
async function timed(work: () => unknown): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1_000;
}
