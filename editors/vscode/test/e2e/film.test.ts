/**
 * What a visitor sees first, from the package alone: the real Claude Code in a terminal with a scripted model on the
 * loopback, Ullage installed from its `.vsix` without a network, a yes, the figure, a warning, what a compaction gives
 * back, and its undoing in a new session. With `--update-screenshots` the pictures go to the guide. Each test continues
 * from the one before.
 */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { before, test } from 'node:test';

import { Stand, type Stood } from './rig/agents.ts';
import { extensionRoot, OFFLINE, START_PATIENCE, until } from './rig/codeServer.ts';
import { continues, READABLE, Terminal, Workbench } from './rig/workbench.ts';

const CLAUDE = 'claude-agent-acp';
/** What the user demands, and the agent's summary does not have. */
const RULE = 'Never change src/shop/legacy.py without a migration.';
// It fits on one line of the terminal: the rig waits until it sees the end of what it typed.
const FIRST = `Add token refresh. ${RULE}`;
const SPOKEN = {
  says: {
    'Add token refresh': 'Tokens are now renewed in src/shop/login.py, 30 seconds before they expire. src/shop/legacy.py stays as it is.',
    'Which tests': 'None yet. I would begin with a token that expires while it is used.',
    'Write that test': 'tests/test_login.py has it, and it passes.',
    'Now the docs': 'docs/login.md says when a token is renewed.',
    'Which file': 'That was src/shop/legacy.py.',
    'Thank you': 'You are welcome.',
  },
  summary: 'The user wants tokens to be refreshed in src/shop/login.py. That is done, and tests/test_login.py covers it. Next: docs/login.md.',
};
/** Tokens of the whole window at the first figures, and tokens below the agent's threshold at which it was warned of. */
const BEGINNING = 412_000;
const SHORT = 4_000;
/** Pictures of this size are read on a page without being enlarged, and are small files. */
const SIZE = { width: 1120, height: 700 };

const home = mkdtempSync(path.join(tmpdir(), 'ullage-film-'));
const programs = path.join(home, 'bin');
const stand = await Stand.open(home);
const claude = stand.begun.agents[CLAUDE] as Stood;
const options = { skip: claude.script === null && 'Claude Code is not installed; scripts/rigs/agents.sh gets it' };
let vscode: Workbench;
let terminal: Terminal;
let used = 0;

before(async () => {
  if (claude.script === null) return;
  mkdirSync(programs);
  writeFileSync(path.join(programs, 'claude'), `#!/bin/sh\nexec sh '${claude.script}' "$@"\n`);
  chmodSync(path.join(programs, 'claude'), 0o755);
  await stand.teach(CLAUDE, SPOKEN);
  vscode = await Workbench.open('film', {
    installed: false,
    folder: stand.begun.project,
    files: { 'src/shop/login.py': '', 'src/shop/legacy.py': '' },
    // One agent is enough for a film.
    environment: { ...OFFLINE, XDG_DATA_HOME: path.join(home, 'data'), ...stand.begun.environment, CODEX_HOME: path.join(home, 'no-codex') },
    settings: {
      ...READABLE,
      'remote.autoForwardPorts': false,
      'workbench.colorTheme': 'Default Dark Modern',
      'window.commandCenter': false,
      'terminal.integrated.env.linux': { PATH: `${programs}:${process.env['PATH'] ?? ''}` },
      'terminal.integrated.defaultProfile.linux': 'bash',
    },
  });
  await vscode.page.setViewportSize(SIZE);
});
continues(() => vscode, async () => {
  await stand.close();
  rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
});

/** Asks Claude Code in its terminal, and waits until it has said how full it is since. Returns the tokens. */
async function ask(prompt: string): Promise<number> {
  const { asked, figure: last } = await stand.look(CLAUDE);
  await terminal.type(prompt);
  return until('the answer', async () => {
    const { asked: now, figure } = await stand.look(CLAUDE);
    // It says zero until the first answer, and for a moment after each prompt what it said before.
    return now > asked && figure && figure !== last ? figure : undefined;
  }, START_PATIENCE);
}

/** Waits until the status bar has the agent's own figure, token for token. */
async function shows(figure: number): Promise<void> {
  const exact = `Claude Code: ${figure.toLocaleString('en-US')} of ${claude.window.toLocaleString('en-US')} tokens, `;
  await until(`the figure ${exact}`, async () => (await vscode.statusLabel()).includes(exact), START_PATIENCE);
}

test('Claude Code works in a terminal of a VS Code that has no extension', options, async () => {
  await stand.look(CLAUDE, BEGINNING);
  terminal = await Terminal.open(vscode, 'Create New Terminal in Editor Area', 'claude');
  await terminal.shows(new RegExp(claude.ready), START_PATIENCE);
  used = await ask(FIRST);
  await terminal.shows(/30 seconds before they expire/);
});

test('a minute later Ullage is installed, has asked, and shows how full the context is', options, async (context) => {
  await vscode.run('Install from VSIX...', 'Extensions');
  await vscode.answerFile(path.join(extensionRoot, 'ullage.vsix'));
  const [began, asked] = [performance.now(), await vscode.toast(/Show how full your coding agents’ conversations are/)];
  const installed = performance.now();
  await vscode.shot('1 consent', 'film-1-consent.png');
  const agreed = performance.now();
  await asked.getByRole('button', { name: 'Follow them' }).click();
  await vscode.reads(/CC \d+% · compacts at 97%/, START_PATIENCE);
  const seconds = [installed - began, performance.now() - agreed].map((span) => (span / 1_000).toFixed(1));
  context.diagnostic(`from the package to the question: ${seconds[0]} s; from the yes to the figure: ${seconds[1]} s`);
  await shows(used);
});

test('the change of the settings is shown before it is made', options, async () => {
  await vscode.run('Give Back What Compactions Take (Wire…)');
  await vscode.toast(/Add this to Claude Code’s settings\?/);
  await vscode.page.locator('.monaco-diff-editor', { hasText: 'SessionStart' }).first().waitFor();
  await vscode.shot('2 settings');
  await vscode.act(/Add this to Claude Code’s settings\?/, 'Add');
  await vscode.toast(/Added to Claude Code\. It takes effect in its next session, or at once/);
  await vscode.clearToasts();
});

test('the conversation is continued, and its compaction is warned of', options, async () => {
  await terminal.type('/exit');
  await terminal.shows(/[$#]\s*$/);
  await terminal.type('claude --continue');
  await terminal.shows(new RegExp(claude.ready), START_PATIENCE);
  await shows(await ask('Which tests cover it?'));
  await vscode.shot('3 figure', 'film-2-figure.png');
  await stand.look(CLAUDE, BEGINNING + claude.compactsAt - SHORT - used);
  await shows(await ask('Write that test.'));
  await vscode.isOfKind('warning');
  await vscode.toast(/Claude Code .*compacts/);
  await vscode.shot('4 warning', 'film-3-warning.png');
  await vscode.clearToasts();
});

test('after its compaction Claude Code is given back what the summary left out', options, async () => {
  await vscode.choose(/CC ·/);
  await vscode.context.getByText('Which tests cover it?').first().waitFor();
  await stand.look(CLAUDE, BEGINNING + claude.compactsAt + SHORT - used);
  await ask('Now the docs.');
  await ask('Which file must not be changed?');
  const marker = vscode.context.locator('.marker', { hasText: 'Compacted #1' }).first();
  await marker.waitFor({ timeout: START_PATIENCE });
  const receipt = vscode.context.locator('.given').first();
  const unfolds = (): Promise<boolean> => until('the receipt', async () => {
    if (!(await receipt.isVisible())) await marker.locator('.marker-head').click();
    return receipt.waitFor({ timeout: 3_000 }).then(() => true, () => false);
  });
  await unfolds().catch(async () => {
    // An agent's hook waits for a few seconds. On a busy machine the text comes with the next prompt instead.
    await ask('Thank you.');
    await unfolds();
  });
  await receipt.locator('summary', { hasText: /Given back: [\d,]+ tokens/ }).click();
  const given = receipt.locator('.given-text', { hasText: RULE });
  await given.waitFor();
  await given.evaluate((text) => { text.scrollIntoView({ block: 'end' }); });
  await vscode.shot('5 given back', 'film-4-given-back.png');
});

test('the compaction is undone in a new session, which Claude Code resumes', options, async () => {
  await vscode.run('Continue in a New Session of an Agent…');
  const before = vscode.picks.filter({ hasText: 'Before compaction · Claude Code' }).filter({ hasText: /of 1,000,000 tokens/ });
  await before.waitFor();
  await before.click();
  await vscode.quickInput.getByText(/Claude Code: [\d,]+ of 1,000,000 tokens/).waitFor();
  await vscode.shot('6 undo');
  await vscode.pick('Write it, and resume it in a terminal');
  const resumed = vscode.page.locator('.part.panel .xterm-rows');
  await resumed.filter({ hasText: 'Now the docs.' }).filter({ hasText: 'Which file must not be changed?' }).waitFor({ timeout: START_PATIENCE });
  // The terminal's conversation, as full as it was, before the one that was compacted.
  await vscode.reads(/CC ~97% · CC 1%/, START_PATIENCE);
  await vscode.toast(/Claude Code compacts soon/);
  await vscode.clearToasts();
  await vscode.shot('7 undone', 'film-5-undone.png');
  assert.equal(await vscode.page.locator('.notification-toast .codicon-error').count(), 0);
});
