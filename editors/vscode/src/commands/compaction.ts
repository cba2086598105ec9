/** Commands that compact, or preview a compaction. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import { isCopy, original } from '../words';
import { asMessage } from '../labels';
import { ContextCommit, ContextCompact, SessionCancel, type CompactParams } from '../protocol.gen';
import type { Ullage } from '../ullage';
import { offerCompaction, sessionOf, type Kept } from './agents';
import { activeSession, withProgress, type Command } from './guard';
import { contextEntries, pickMessage } from './messages';

/** Compacts the active session at once. The first argument names another, which an agent has. */
export const compact: Command = async (ullage, given) => {
  const followed = followedBy(ullage, sessionOf(given));
  if (followed) await offerCompaction(ullage, followed);
  else await run(ullage, { sessionId: activeSession(ullage) });
};

interface Way extends vscode.QuickPickItem {
  readonly compact: (ullage: Ullage, sessionId: string) => Promise<unknown>;
}

/** Offers the ways to compact: all, with a focus, or a stretch. */
export const choose: Command = async (ullage) => {
  const followed = followedBy(ullage);
  if (followed) return offerCompaction(ullage, followed);
  const sessionId = activeSession(ullage);
  const chosen = await vscode.window.showQuickPick(WAYS, { title: l10n.t('Compact Context'), placeHolder: l10n.t('No message is lost; it can be undone') });
  await chosen?.compact(ullage, sessionId);
};

const WAYS: readonly Way[] = [
  { label: `$(fold) ${l10n.t('Compact now')}`, compact: (ullage, sessionId) => run(ullage, { sessionId }) },
  { label: `$(target) ${l10n.t('With a focus…')}`, compact: withFocus },
  { label: `$(fold-up) ${l10n.t('Up to a message…')}`, compact: upTo },
  { label: `$(fold-down) ${l10n.t('From a message on…')}`, compact: from },
];

async function withFocus(ullage: Ullage, sessionId: string): Promise<void> {
  const focus = await vscode.window.showInputBox({
    title: l10n.t('Compact Context with Focus'),
    prompt: l10n.t('What should the summary keep above all?'),
    placeHolder: l10n.t('the failing token refresh and what was tried'),
  });
  if (focus) await run(ullage, { sessionId, focus });
}

async function upTo(ullage: Ullage, sessionId: string): Promise<void> {
  const chosen = await pickMessage(ullage, sessionId, l10n.t('Compact everything up to this message, and it, too'));
  if (chosen) await run(ullage, { sessionId, upTo: chosen.messageId });
}

async function from(ullage: Ullage, sessionId: string): Promise<void> {
  const chosen = await pickMessage(ullage, sessionId, l10n.t('Compact this message and everything after it'));
  if (chosen) await run(ullage, { sessionId, from: chosen.messageId });
}

export const cancel: Command = (ullage) => ullage.connection.notify(SessionCancel, { sessionId: activeSession(ullage) });

export const preview: Command = async (ullage) => {
  const followed = followedBy(ullage);
  if (followed) return offerCompaction(ullage, followed);
  const sessionId = activeSession(ullage);
  const result = await withProgress(l10n.t('Previewing a compaction'), (_, token) => ullage.sessions.request(ContextCompact, { sessionId, dryRun: true }, token));
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

/** Compacts. The status bar shows that it runs, and cancels it; the server's notice shows the result. A remark about a moved cut, and that a copy was compacted, are shown here. */
async function run(ullage: Ullage, params: CompactParams): Promise<void> {
  const result = await ullage.sessions.request(ContextCompact, params);
  await ullage.sessions.refreshEdits(params.sessionId);
  const copied = copyOf(ullage) ? l10n.t('Only the copy was compacted; {0} stays as it is.', copyOf(ullage)) : '';
  const words = [result.note, copied].filter(Boolean).join(' ');
  if (words) void vscode.window.showInformationMessage(asMessage(words));
}

/** Returns whose conversation the active session is a copy of, or an empty string. */
function copyOf({ sessions: { usage } }: Ullage): string {
  return usage && isCopy(usage.meta) ? original(usage.meta) : '';
}
