/** A compaction that is long enough to be cancelled, by the command and by the progress notification's Cancel. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, beforeEach, test } from 'node:test';

import { START_PATIENCE } from './rig/patience.ts';
import { given } from './rig/places.ts';
import { Workbench } from './rig/workbench.ts';

/** So many turns, about ten million tokens, that the offline summary takes seconds on any machine. */
const TURNS = 6_000;
const SETTINGS = { 'ullage.models': { 'gpt-4o': { window: 100_000_000 } } };
const FIGURES = /~\d+% · [\d.]+M\/100M/;

let vscode: Workbench;
let failed = true;

before(async () => {
  vscode = await Workbench.open('cancel', { settings: SETTINGS, environment: { ULLAGE_SERVER: given('ULLAGE_PROGRAM') } });
  const file = path.join(vscode.workspace, 'long.json');
  writeFileSync(file, JSON.stringify({ model: 'gpt-4o', messages: conversation() }));
  await vscode.run('Import Transcript…');
  await vscode.pick('Choose a file');
  await vscode.answerFile(file);
  await vscode.reads(FIGURES, START_PATIENCE);
  await vscode.toast(/Imported/);
  await vscode.clearToasts();
});
beforeEach(async () => {
  failed = true;
  await vscode.runIn('Compact Context…', 'Compact now');
  // The compaction is planned first, which takes a busy machine a while with ten million tokens.
  await vscode.reads(/Compacting… [\d,]+ messages/, START_PATIENCE);
});
after(async () => { await vscode.close(failed); });

test('Cancel Compaction leaves the context as it was', async () => {
  await vscode.run('Cancel Compaction');
  await isAsItWas();
});

test('and a click on the status bar', async () => {
  await vscode.shot('compacting');
  await vscode.status.click();
  await isAsItWas();
});

async function isAsItWas(): Promise<void> {
  await vscode.reads(FIGURES);
  const driver = await vscode.driver();
  const { result } = await driver.ask<{ sessions: readonly { sessionId: string }[] }>('ullage/session/list', {});
  const sessionId = result.sessions[0]?.sessionId;
  const history = await driver.ask<{ edits: readonly unknown[] }>('ullage/context/history', { sessionId });
  assert.deepEqual(history.result.edits, []);
  const usage = await driver.ask<{ _meta: { ullage: { messagesActive: number } } }>('ullage/context/get', { sessionId });
  assert.equal(usage.result._meta.ullage.messagesActive, 2 * TURNS);
  await vscode.page.locator('.notification-toast').first().waitFor({ state: 'hidden' });
  failed = false;
}

function conversation(): readonly { readonly role: string; readonly content: string }[] {
  return Array.from({ length: TURNS }, (_, turn) => turn).flatMap((turn) => [
    { role: 'user', content: `Question ${turn}: ${words(60, (at) => `word${turn}x${at} src/mod${at}/file${turn % 53}.py`)}` },
    { role: 'assistant', content: `Answer ${turn}: ${words(200, (at) => `token${turn}y${at}`)}` },
  ]);
}

function words(count: number, word: (at: number) => string): string {
  return Array.from({ length: count }, (_, at) => word(at)).join(' ');
}
