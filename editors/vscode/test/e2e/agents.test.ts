/**
 * The real Claude Code and Codex in VS Code's terminals, with scripted models on the loopback. Ullage is added to Claude
 * Code. Each test continues from the one before.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { before, describe, test } from 'node:test';

import { Stand, type Stood } from './rig/agents.ts';
import { given, START_PATIENCE, until } from './rig/codeServer.ts';
import { continues, READABLE, Terminal, Workbench } from './rig/workbench.ts';

/** Tokens below an agent's threshold at which the user must have been warned. A call in these tests adds fewer. */
const SHORT = 4_000;
const AGENTS = [
  { id: 'claude-agent-acp', name: 'Claude Code', brief: 'CC', opens: 'Create New Terminal' },
  { id: 'codex-acp', name: 'Codex', brief: 'Codex', opens: 'Split Terminal' },
] as const;

const home = mkdtempSync(path.join(tmpdir(), 'ullage-real-'));
const stand = await Stand.open(home);
const data = path.join(home, 'data');
/** Where the window's server has its store: the hook keeps its receipts next to it. */
const store = path.join(data, 'ullage/sessions.db');
/** Asked before the compaction, and not in the scripted summary. */
const RULE = 'Never change src/shop/legacy.py without a migration.';
let vscode: Workbench;

before(async () => {
  const environment = { ...process.env, ...stand.begun.environment };
  if (stand.begun.agents['claude-agent-acp']?.script) execFileSync(given('ULLAGE_PROGRAM'), ['wire', 'claude-code', '--yes', '--store', store], { env: environment });
  vscode = await Workbench.open('agents', {
    folder: stand.begun.project,
    environment: { ULLAGE_SERVER: given('ULLAGE_PROGRAM'), XDG_DATA_HOME: data, ...stand.begun.environment },
    // A terminal that is taken for a server's would be announced over the page.
    settings: { ...READABLE, 'remote.autoForwardPorts': false, 'ullage.followAgents': 'on', 'workbench.colorTheme': 'Default Dark Modern' },
  });
});
continues(() => vscode, async () => {
  await stand.close();
  rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
});

for (const { id, name, brief, opens } of AGENTS) {
  const agent = stand.begun.agents[id] as Stood;
  describe(name, { skip: agent.script === null && `${name} is not installed; scripts/rigs/agents.sh gets it` }, () => {
    let terminal: Terminal;

    /** Waits until the status bar has the agent's own figure, token for token, of the answers after the first `asked`. */
    const isShown = (asked: number): Promise<number> => until(`the figure of ${name}`, async () => {
      const { asked: now, figure } = await stand.look(id);
      const exact = figure !== null && `${name}: ${figure.toLocaleString('en-US')} of ${agent.window.toLocaleString('en-US')} tokens, `;
      return now > asked && exact && (await vscode.statusLabel()).includes(exact) ? figure : undefined;
    }, START_PATIENCE);

    /** Asks the agent in its terminal. */
    const ask = async (prompt: string): Promise<number> => {
      const { asked } = await stand.look(id);
      await terminal.type(prompt);
      return isShown(asked);
    };
    const marker = (number: number): Promise<void> =>
      vscode.context.locator('.marker', { hasText: `Compacted #${number}` }).first().waitFor();

    let used = 0;

    test('the status bar has the figure that the agent has itself', async () => {
      terminal = await Terminal.open(vscode, opens, `sh ${agent.script}`);
      await terminal.shows(new RegExp(agent.ready), START_PATIENCE);
      used = await ask(`Which port is it? ${RULE}`);
      await vscode.reads(new RegExp(`${brief} `));
      await vscode.shot(`${brief} figure`);
    });

    test('its compaction is warned of before it comes', async () => {
      await stand.look(id, agent.compactsAt - SHORT - used);
      await ask('And the one beside it?');
      await vscode.isOfKind('warning');
      await vscode.toast(new RegExp(`${name} .*compacts`));
      await vscode.shot(`${brief} warned`);
      await vscode.clearToasts();
    });

    test('its compaction becomes a marker in the Context view, and the figure is its own again', async () => {
      await vscode.choose(`${brief} ·`);
      await vscode.context.getByText('Which port is it?').first().waitFor();
      await stand.look(id, agent.compactsAt + SHORT - used);
      await ask('And the third?');
      const { asked } = await stand.look(id);
      await terminal.type('And the last?');
      await marker(1);
      await isShown(asked + 1);
      await vscode.shot(`${brief} compacted`);
    });

    test('its marker says what a hook gave back to it', { skip: name !== 'Claude Code' && 'Ullage is not added to it' }, async () => {
      const receipt = vscode.context.locator('.given').first();
      // What was left out, and given back, is looked for when the marker is opened.
      await until('the receipt', async () => {
        if (!(await receipt.isVisible())) await vscode.context.locator('.marker .marker-head').first().click();
        return receipt.waitFor({ timeout: 5_000 }).then(() => true, () => false);
      });
      await receipt.locator('summary', { hasText: /Given back: [\d,]+ tokens/ }).click();
      await receipt.locator('.given-text', { hasText: RULE }).waitFor();
      await vscode.shot(`${brief} given back`);
      // Folded again, the conversation is followed at its end.
      await vscode.context.locator('.marker .marker-head').first().click();
      await receipt.waitFor({ state: 'hidden' });
      await vscode.context.locator('.conversation').evaluate((list) => { list.scrollTop = list.scrollHeight; });
    });

    test('Compact sends the command to the terminal in which the agent runs', async () => {
      await vscode.run('Compact Context…');
      if (name === 'Claude Code') await vscode.answer('the port');
      await vscode.picks.filter({ hasText: /Send \/compact.* to the terminal/ }).first().waitFor();
      await vscode.shot(`${brief} compact`);
      await vscode.pick(/Send \/compact/);
      await vscode.confirm('Send');
      await marker(2);
      await vscode.shot(`${brief} compacted by command`);
    });
  });
}

const areThere = Object.values(stand.begun.agents).every(({ script }) => script !== null);
test('both are in the status bar, each with its figure', { skip: !areThere && 'not both are installed' }, async () => {
  await vscode.reads(/CC ~?\d+%.*Codex ~?\d+%|Codex ~?\d+%.*CC ~?\d+%/);
  await vscode.status.click();
  await vscode.conversations.filter({ hasText: /~?\d+% .*Codex · .*compacts at/ }).first().waitFor();
  await vscode.shot('list');
  await vscode.hover('Show all');
  await vscode.shot('side by side');
});
