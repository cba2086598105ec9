/** Commands that compact, or preview a compaction. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import { isCopy, original } from '../copies';
import { full } from '../figures';
import { asMessage } from '../labels';
import { ContextCommit, ContextCompact, SessionCancel, type CompactParams, type CompactResult } from '../protocol.gen';
import type { Ullage } from '../ullage';
import { offerCompaction, sessionOf, type Kept } from './agents';
import { activeSession, withProgress, type Command } from './guard';
import { contextEntries, pickMessage } from './messages';

/** Compacts the active session. The first argument names another, which an agent has. */
export const compact: Command = async (ullage, given) => {
  const followed = followedBy(ullage, sessionOf(given));
  if (followed) await offerCompaction(ullage, followed);
  else await run(ullage, l10n.t('Compacting'), { sessionId: activeSession(ullage) });
};

export const compactWithFocus: Command = async (ullage) => {
  const followed = followedBy(ullage);
  if (followed) return offerCompaction(ullage, followed);
  const sessionId = activeSession(ullage);
  const focus = await vscode.window.showInputBox({
    title: l10n.t('Compact Context with Focus'),
    prompt: l10n.t('What should the summary keep above all?'),
    placeHolder: l10n.t('the failing token refresh and what was tried'),
  });
  if (focus) await run(ullage, l10n.t('Compacting'), { sessionId, focus });
};

export const compactUpTo: Command = async (ullage) => {
  const followed = followedBy(ullage);
  if (followed) return offerCompaction(ullage, followed);
  const sessionId = activeSession(ullage);
  const chosen = await pickMessage(ullage, sessionId, l10n.t('Compact everything up to this message, and it, too'));
  if (chosen) await run(ullage, l10n.t('Compacting'), { sessionId, upTo: chosen.messageId });
};

export const compactFrom: Command = async (ullage) => {
  const followed = followedBy(ullage);
  if (followed) return offerCompaction(ullage, followed);
  const sessionId = activeSession(ullage);
  const chosen = await pickMessage(ullage, sessionId, l10n.t('Compact this message and everything after it'));
  if (chosen) await run(ullage, l10n.t('Compacting'), { sessionId, from: chosen.messageId });
};

export const cancel: Command = (ullage) => ullage.connection.notify(SessionCancel, { sessionId: activeSession(ullage) });

export const preview: Command = async (ullage) => {
  const followed = followedBy(ullage);
  if (followed) return offerCompaction(ullage, followed);
  const sessionId = activeSession(ullage);
  const result = await run(ullage, l10n.t('Previewing a compaction'), { sessionId, dryRun: true });
  const entries = await contextEntries(ullage, sessionId);
  await ullage.preview.show(sessionId, { result, entries, title: ullage.sessions.title, copyOf: copyOf(ullage) });
};

export const acceptPreview: Command = async (ullage) => {
  const decision = await ullage.preview.decision();
  if (!decision) return;
  await withProgress(l10n.t('Compacting'), (_, token) => ullage.sessions.request(ContextCommit, decision, token));
  await ullage.preview.close();
  await ullage.sessions.refreshEdits(decision.sessionId);
};

export const discardPreview: Command = (ullage) => ullage.preview.close();

/**
 * Returns the conversation to compact if an agent keeps it: the named one, else the active session's, else what the status
 * bar shows. One that is not followed has no row, but the store knows whose it is.
 */
function followedBy({ following, sessions }: Ullage, sessionId = sessions.activeSessionId): Kept | undefined {
  if (sessionId === undefined) return following.shown.subject;
  const kept = sessions.usage?.sessionId === sessionId ? sessions.usage.meta.followed : null;
  return following.row(sessionId) ?? (kept ? { sessionId, agent: kept.agent, compactCommand: '', takesFocus: false } : undefined);
}

/** Compacts. The server's notice shows the result; a remark about a moved cut, and that a copy was compacted, are shown here. */
async function run(ullage: Ullage, title: string, params: CompactParams): Promise<CompactResult> {
  const result = await withProgress(title, async (report, token) => {
    const listening = ullage.sessions.onDidChangeCompaction((state) => {
      if (state?.text) report(l10n.t('Writing the summary: {0} characters', full(state.text.length)));
    });
    try {
      return await ullage.sessions.request(ContextCompact, params, token);
    } finally {
      listening.dispose();
    }
  });
  await ullage.sessions.refreshEdits(params.sessionId);
  const copied = params.dryRun !== true && copyOf(ullage) ? l10n.t('Only the copy was compacted; {0} stays as it is.', copyOf(ullage)) : '';
  const words = [result.note, copied].filter(Boolean).join(' ');
  if (words) void vscode.window.showInformationMessage(asMessage(words));
  return result;
}

/** Returns whose conversation the active session is a copy of, or an empty string. */
function copyOf({ sessions: { usage } }: Ullage): string {
  return usage && isCopy(usage.meta) ? original(usage.meta) : '';
}
