/** Commands that compact, or preview a compaction. */
import * as vscode from 'vscode';

import { ContextCommit, ContextCompact, type CompactParams, type CompactResult } from '../protocol.gen';
import type { Ullage } from '../ullage';
import { activeSession, withProgress, type Command } from './guard';
import { contextEntries, pickMessage } from './messages';

export const compact: Command = (ullage) => run(ullage, 'Compacting', { sessionId: activeSession(ullage) });

export const compactWithFocus: Command = async (ullage) => {
  const sessionId = activeSession(ullage);
  const focus = await vscode.window.showInputBox({
    title: 'Compact Context with Focus',
    prompt: 'What should the summary keep above all?',
    placeHolder: 'the failing token refresh and what was tried',
  });
  if (focus) await run(ullage, 'Compacting', { sessionId, focus });
};

export const compactUpTo: Command = async (ullage) => {
  const sessionId = activeSession(ullage);
  const chosen = await pickMessage(ullage, sessionId, 'Compact everything up to this message, and it, too');
  if (chosen) await run(ullage, 'Compacting', { sessionId, upTo: chosen.messageId });
};

export const compactFrom: Command = async (ullage) => {
  const sessionId = activeSession(ullage);
  const chosen = await pickMessage(ullage, sessionId, 'Compact this message and everything after it');
  if (chosen) await run(ullage, 'Compacting', { sessionId, from: chosen.messageId });
};

export const cancel: Command = (ullage) => ullage.chat.stop(activeSession(ullage));

export const preview: Command = async (ullage) => {
  const sessionId = activeSession(ullage);
  const result = await run(ullage, 'Previewing a compaction', { sessionId, dryRun: true });
  const entries = await contextEntries(ullage, sessionId);
  await ullage.preview.show(sessionId, { result, entries, title: ullage.sessions.title });
};

export const acceptPreview: Command = async (ullage) => {
  const decision = await ullage.preview.decision();
  await withProgress('Compacting', (_, token) => ullage.sessions.request(ContextCommit, decision, token));
  await ullage.preview.close();
  await ullage.sessions.refreshEdits(decision.sessionId);
};

export const discardPreview: Command = (ullage) => ullage.preview.close();

/** Compacts. The server's notice shows the result; only a remark about a moved cut is shown here. */
async function run(ullage: Ullage, title: string, params: CompactParams): Promise<CompactResult> {
  const result = await withProgress(title, async (report, token) => {
    const listening = ullage.sessions.onDidChangeCompaction((state) => {
      if (state?.text) report(`Writing the summary: ${state.text.length.toLocaleString('en-US')} characters`);
    });
    try {
      return await ullage.sessions.request(ContextCompact, params, token);
    } finally {
      listening.dispose();
    }
  });
  await ullage.sessions.refreshEdits(params.sessionId);
  if (result.note) void vscode.window.showInformationMessage(result.note);
  return result;
}
