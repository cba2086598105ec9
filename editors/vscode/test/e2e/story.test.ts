/** An hour of a user's work with Ullage in a real VS Code. Each test continues from the one before. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { before, describe, test } from 'node:test';

import { pacedProgram, sample, START_PATIENCE, transcripts, until } from './rig/codeServer.ts';
import { continues, Workbench } from './rig/workbench.ts';

// In this window the sample is in the warning's range, and stays there because tool results are kept whole.
const SETTINGS = {
  'ullage.models': { 'claude-sonnet-4-5': { window: 60_000 } },
  'ullage.context.excludeTools': ['read_file', 'write_file', 'edit_file', 'run'],
};
const RECORDED = path.join(transcripts, 'claude_code_spotter/tool_heavy.jsonl');
const FULL = /~64% of 60K · compacts at 68%/;

let vscode: Workbench;

before(async () => {
  vscode = await Workbench.open('story', { settings: SETTINGS, environment: { ULLAGE_SERVER: pacedProgram() } });
});
continues(() => vscode);

async function importFile(file: string): Promise<void> {
  await vscode.run('Import Transcript…');
  await vscode.pick('Choose a file');
  await vscode.answerFile(file);
}

/** Waits until the open view says something, and that no message says it again. */
async function told(words: RegExp): Promise<void> {
  await vscode.context.locator('.notice', { hasText: words }).waitFor();
  assert.equal(await vscode.page.locator('.notification-toast', { hasText: words }).count(), 0);
}

describe('the first session', () => {
  test('without a session and without agents the status bar has the name alone', async () => {
    await vscode.reads(/^Ullage$/);
    await vscode.isOfKind('normal');
    await vscode.shot('no session');
  });

  test('a conversation with an unknown model says that its limit is unknown, and asks for it on a click', async () => {
    const file = path.join(vscode.workspace, 'first.json');
    writeFileSync(file, JSON.stringify([{ role: 'user', content: 'first steps' }]));
    await importFile(file);
    // The first session starts the server.
    await vscode.reads(/· limit unknown/, START_PATIENCE);
    await vscode.status.click();
    await vscode.answer('claude-sonnet-4-5');
    await vscode.reads(/0% · \d+\/60K/);
    await vscode.clearToasts();
  });

  test('a recorded conversation is imported and its figures are shown', { skip: !existsSync(RECORDED) && 'no recorded transcripts here' }, async () => {
    await importFile(RECORDED);
    await vscode.toast(/Imported \d+ messages \(claude/i);
    await vscode.reads(/\d+% · [\d.]+K\/[\d.]+[KM]/);
    await vscode.shot('recorded');
    await vscode.clearToasts();
  });
});

describe('a conversation that fills its window', () => {
  test('is imported, shown in the warning colour, and shown in one notification', async () => {
    await importFile(sample);
    await vscode.toast(/Imported 203 messages \(ullage\)\. Context \d\d% full \(38K of \d\dK\)\. Compacts by itself at \d\d% \(4[01]K\)\./);
    await vscode.reads(FULL);
    await vscode.isOfKind('warning');
    // The progress of the import may be on its way out.
    await until('a single notification', async () => (await vscode.page.locator('.notification-toast').count()) === 1);
    await vscode.shot('warning');
  });

  test('explains its figures on hover', async () => {
    await vscode.clearToasts();
    const hover = await vscode.hover('tool results');
    for (const word of ['Add token refresh to the login service', 'claude-sonnet-4-5', '~64% of the window', '38,164 of 60,000 tokens · compacts at 41K (68%)', 'Estimated', 'Compact now', 'Preview', 'Show context'])
      await hover.filter({ hasText: word }).waitFor();
    await vscode.shot('hover', 'hover.png');
    await vscode.page.mouse.move(600, 300);
  });

  test('shows its messages in the Context view', async () => {
    await vscode.run('Show Context');
    await vscode.context.getByRole('treeitem').first().waitFor();
    await vscode.context.getByText('64%').first().waitFor();
    await vscode.shot('context');
  });
});

describe('compacting', () => {
  test('from the palette, its summary streams into the Context view', async () => {
    const writing = vscode.context.locator('.writing');
    // The page counts the stages itself: on a busy machine this test looks too rarely to see them.
    await writing.evaluate((element) => {
      const stages = new Set<number>();
      const observer = new MutationObserver(() => { element.setAttribute('data-stages', String(stages.add(element.textContent.length).size)); });
      observer.observe(element, { childList: true, characterData: true, subtree: true });
    });
    await vscode.runIn('Compact Context…', 'Compact now');
    await until('three stages of the summary', async () => Number(await writing.getAttribute('data-stages')) > 3);
    await vscode.shot('streaming', 'streaming.png');
    await told(/Compacted 1\d\d messages: 38K → [\d.]+K\. Everything is kept; undo any time\./);
    await vscode.hasRead(/✓ 38K → [\d.]+K/);
    await vscode.reads(/~\d+% · [\d.]+K\/60K/);
    await vscode.isOfKind('normal');
  });

  test('leaves a marker that opens to the summary', async () => {
    const marker = vscode.context.locator('.marker', { hasText: 'Compacted #1' });
    await marker.first().waitFor();
    if (!(await marker.first().getAttribute('class'))?.includes('open')) await marker.locator('.marker-head').click();
    await marker.getByText('Files, by what became of them').first().waitFor();
    await vscode.clearToasts();
    await vscode.shot('compacted', 'compacted.png');
  });

  test('is undone, having said what comes back', async () => {
    await vscode.run('Undo Compaction…');
    const dialog = vscode.page.locator('.monaco-dialog-box');
    await dialog.getByText(/Brings back 1\d\d messages, \d+K tokens; the context will be at 64%/).waitFor();
    await vscode.shot('undo');
    await vscode.confirm('Undo');
    await vscode.toast(/Undone: [\d.]+K → 38K/);
    await vscode.reads(FULL);
    await vscode.clearToasts();
  });
});

describe('previewing', () => {
  test('is discarded without a trace', async () => {
    await vscode.run('Preview Compaction');
    await vscode.page.locator('.tab', { hasText: /38K → [\d.]+K/ }).waitFor();
    await cursorInSummary();
    await vscode.page.keyboard.press('Control+End');
    await vscode.page.locator('.view-line', { hasText: /^-\s#\d+\s(you|assistant|tool result)\s/ }).first().waitFor();
    await vscode.shot('preview, what goes');
    await vscode.page.getByRole('button', { name: 'Discard Preview' }).first().click();
    await vscode.page.locator('.tab', { hasText: '38K →' }).waitFor({ state: 'detached' });
    await vscode.reads(FULL);
  });

  test('takes an edited summary and accepts it', async () => {
    await vscode.run('Preview Compaction');
    await vscode.page.locator('.tab', { hasText: /38K → [\d.]+K/ }).waitFor();
    await vscode.shot('preview', 'preview.png');
    await cursorInSummary();
    await vscode.page.locator('.monaco-editor.focused').waitFor();
    await vscode.page.keyboard.insertText('The eleventh refresh within a minute gets 429.\n');
    await vscode.page.locator('.codelens-decoration', { hasText: /38K → ≈/ }).first().waitFor();
    await vscode.page.getByRole('button', { name: 'Accept Preview' }).first().click();
    await told(/Compacted 1\d\d messages: 38K → /);
    await vscode.page.locator('.tab', { hasText: '38K →' }).waitFor({ state: 'detached' });
    const driver = await vscode.driver();
    const { result } = await driver.ask('ullage/context/messages', { sessionId: await activeId() });
    assert.match(JSON.stringify(result), /The eleventh refresh within a minute gets 429\./);
  });

  test('and is taken back', async () => {
    await vscode.run('Undo Compaction…');
    await vscode.confirm('Undo');
    await vscode.reads(FULL);
    await vscode.clearToasts();
  });
});

describe('the other commands', () => {
  test('With a focus… asks for it', async () => {
    await vscode.runIn('Compact Context…', 'With a focus…');
    await vscode.answer('the refresh limit');
    await told(/Compacted 1\d\d messages/);
    await vscode.reads(/~\d+% · [\d.]+K\/60K/);
    await vscode.clearToasts();
  });

  test('Search… finds what is no longer in the context, and shows it', async () => {
    await vscode.runIn('Search…', 'This conversation');
    await vscode.quickInput.locator('input').first().fill('revocable');
    await vscode.picks.filter({ hasText: 'revocable' }).first().waitFor();
    await vscode.shot('search');
    await vscode.pick('revocable');
    await vscode.page.locator('.monaco-editor', { hasText: 'revocable' }).first().waitFor();
    await vscode.page.keyboard.press('Control+F4');
  });

  test('Pin or Unpin a Message… does either, and says how many are pinned', async () => {
    await vscode.run('Undo Compaction…');
    await vscode.confirm('Undo');
    await vscode.reads(FULL);
    for (const words of [/Pinned #\d+\. Pinned now: 1\./, /Unpinned #\d+\. Pinned now: 0\./]) {
      await vscode.run('Pin or Unpin a Message…');
      await vscode.pick(/#\d+ /);
      await vscode.toast(words);
    }
    await vscode.clearToasts();
  });

  test('Up to a message… and From a message on… compact that stretch', async () => {
    for (const way of ['Up to a message…', 'From a message on…']) {
      await vscode.runIn('Compact Context…', way);
      await vscode.picks.filter({ hasText: /#\d+ assistant/ }).first().waitFor();
      await vscode.page.keyboard.type('The plan:');
      await vscode.pick('The plan:');
      await told(/Compacted \d+ messages/);
      // The notification's button is not used: the notification moves when another one appears.
      await vscode.run('Undo Compaction…');
      await vscode.confirm('Undo');
      await vscode.reads(FULL);
      await vscode.clearToasts();
    }
  });

  test('an export is a file that can be read again', async () => {
    const file = path.join(vscode.workspace, 'exported.jsonl');
    await vscode.runIn('Conversations…', 'Export Conversation…');
    await vscode.pick('everything ever said');
    await vscode.answerFile(file);
    await vscode.toast('Exported to');
    assert.match(readFileSync(file, 'utf8'), /Add token refresh to the login service/);
    await vscode.clearToasts();
  });

  test('a fork continues in a copy, and Conversations… returns', async () => {
    await vscode.runIn('Conversations…', 'Fork Conversation');
    await vscode.answer('another way');
    await until('the fork to be listed', async () => (await titles()).includes('another way'));
    await vscode.reads(FULL);
    await vscode.run('Conversations…');
    await vscode.picks.filter({ hasText: 'first steps' }).first().waitFor();
    await vscode.shot('switch');
    await vscode.pick('first steps');
    await vscode.reads(/0% · \d+\/60K/);
    await vscode.run('Conversations…');
    await vscode.pick('Add token refresh');
    await vscode.reads(FULL);
  });

  test('the diagnostics have no word of the conversation', async () => {
    await vscode.runIn('Server…', 'Copy diagnostics');
    await vscode.toast('Diagnostics are on the clipboard.');
    const text = await vscode.page.evaluate(() => navigator.clipboard.readText());
    assert.match(text, /## Ullage/);
    assert.match(text, /"used": 38164/);
    assert.doesNotMatch(text, /token refresh/i);
    await vscode.clearToasts();
  });

  test('the log opens', async () => {
    await vscode.runIn('Server…', 'Show log');
    await vscode.page.locator('.part.panel .view-lines', { hasText: /\[info\]/ }).first().waitFor();
    await vscode.shot('logs');
    await vscode.page.keyboard.press('Control+J');
  });
});

describe('when the server ends', () => {
  test('a restart starts another one', async () => {
    const before = await until('the server', () => vscode.serverProcess);
    await vscode.runIn('Server…', 'Restart the server');
    await until('another process', () => vscode.serverProcess !== undefined && vscode.serverProcess !== before);
    await vscode.reads(FULL);
  });

  test('killed, it comes back by itself with nothing lost', async () => {
    const before = await everything();
    const pid = await until('the server', () => vscode.serverProcess);
    process.kill(pid, 'SIGKILL');
    await until('another process', () => vscode.serverProcess !== undefined && vscode.serverProcess !== pid);
    await vscode.reads(FULL);
    assert.deepEqual(await everything(), before);
    await vscode.shot('recovered');
  });
});

describe('a conversation that continues', () => {
  test('is compacted by itself when it reaches the mark', async () => {
    const driver = await vscode.driver();
    const sessionId = await activeId();
    const text = 'The device list should show when each device was last seen, in words. '.repeat(220);
    await driver.ask('ullage/session/append', { sessionId, messages: [{ role: 'user', content: text }] });
    await told(/Compacted 1\d\d messages: 4\dK → [\d.]+K\. Everything is kept; undo any time\./);
    await vscode.reads(/~\d+% · [\d.]+K\/60K/);
    await vscode.shot('automatic');
  });
});

/** The preview opens with the cursor at the beginning of the summary, some lines down. */
async function cursorInSummary(): Promise<void> {
  await vscode.page.locator('.statusbar-item', { hasText: /Ln ([2-9]|\d\d+), Col 1/ }).waitFor();
}

interface History {
  readonly edits: readonly unknown[];
}

async function activeId(): Promise<string> {
  const driver = await vscode.driver();
  const { result } = await driver.ask<{ sessions: readonly { sessionId: string; title: string }[] }>('ullage/session/list', {});
  const session = result.sessions.find(({ title }) => title.startsWith('Add token refresh'));
  assert.ok(session);
  return session.sessionId;
}

async function titles(): Promise<readonly string[]> {
  const { result } = await (await vscode.driver()).ask<{ sessions: readonly { title: string }[] }>('ullage/session/list', {});
  return result.sessions.map(({ title }) => title);
}

async function history(): Promise<History> {
  return (await (await vscode.driver()).ask<History>('ullage/context/history', { sessionId: await activeId() })).result;
}

/** Returns the whole transcript, every edit and the figures of the session. */
async function everything(): Promise<unknown> {
  const driver = await vscode.driver();
  const sessionId = await activeId();
  const { result } = await driver.ask('ullage/context/messages', { sessionId, scope: 'transcript' });
  const usage = await driver.ask<{ used: number }>('ullage/context/get', { sessionId });
  return { transcript: result, used: usage.result.used, edits: (await history()).edits };
}
