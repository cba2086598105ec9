/** Follows the README's VS Code section as a new user and measures the time. Ullage is not on the machine, and there is no key. */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { cleanEnvironment } from './codeServer.ts';
import { START_PATIENCE } from './patience.ts';
import { repository, sample } from './places.ts';
import { Workbench } from './workbench.ts';

/** Milliseconds that a package manager may take. */
const DOWNLOADS = 600_000;

/** Nothing can be fetched: the package has all that it needs. */
const OFFLINE = { PIP_NO_INDEX: '1', HTTPS_PROXY: 'http://127.0.0.1:9', HTTP_PROXY: 'http://127.0.0.1:9', NO_PROXY: '127.0.0.1,localhost' };

/** Seconds: to make the .vsix from a fresh checkout, and from opening VS Code until it shows the context's figure. */
export interface Newcomer {
  readonly build: number;
  readonly firstUsage: number;
}

export async function newcomer(): Promise<Newcomer> {
  const folder = mkdtempSync(path.join(tmpdir(), 'ullage-newcomer-'));
  try {
    const checkout = copyCheckout(path.join(folder, 'checkout'));
    const build = await timed(() => { makeVsix(checkout, path.join(folder, 'home')); });
    return { build, firstUsage: await timed(() => reachUsage(path.join(checkout, 'editors/vscode/ullage.vsix'))) };
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

/** Returns the seconds that the work takes. */
async function timed(work: () => unknown): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1_000;
}
