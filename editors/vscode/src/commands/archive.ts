/** Commands on archived messages: undo, restore, and search. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import { archivedBehind, bringsBack, describeEdit, undoSteps, type UndoStep } from '../edits';
import { numberOf, oneLine, shrinking } from '../figures';
import { asLabel } from '../labels';
import { messageMarkdown } from '../messageText';
import {
  ContextHistory,
  ContextMessages,
  ContextRestore,
  ContextSearch,
  ContextUndo,
  type RevertResult,
  type SearchHit,
} from '../protocol.gen';
import { speaker } from '../speaker';
import type { Ullage } from '../ullage';
import { activeSession, type Command } from './guard';
import { contextEntries } from './messages';
import { pickFound } from './searchPick';
import { search as searchTeam } from './team';

/** Undoes the edit that the first argument names. Without one, the last edit in force, or all back to the one that the user chooses. */
export const undo: Command = async (ullage, editId) => {
  const sessionId = activeSession(ullage);
  const steps = await history(ullage, sessionId);
  if (typeof editId !== 'string' && steps.length > 1) return restore(ullage, sessionId, steps);
  const step = typeof editId === 'string' ? steps.find(({ edit }) => edit.id === editId) : steps[0];
  if (!step) {
    void vscode.window.showInformationMessage(l10n.t('Nothing to undo: no compaction is in force.'));
    return;
  }
  const question = l10n.t('Undo this? {0}', describeEdit(step.edit, Date.now()));
  if (!(await confirm(ullage, sessionId, question, [step], l10n.t('Undo')))) return;
  await revert(ullage, sessionId, () => ullage.sessions.request(ContextUndo, { sessionId, editId: step.edit.id }));
};

async function restore(ullage: Ullage, sessionId: string, steps: readonly UndoStep[]): Promise<void> {
  const points = steps.slice(1).map((step, index) => ({
    label: `$(history) ${l10n.t('After: {0}', describeEdit(step.edit, Date.now()))}`,
    description: takesBack(index + 1),
    editId: step.edit.id,
    undone: steps.slice(0, index + 1),
  }));
  const start = { label: `$(debug-restart) ${l10n.t('Before every compaction')}`, description: takesBack(steps.length), editId: null, undone: steps };
  const options = { title: l10n.t('Back to which state? Every later edit is taken back'), placeHolder: l10n.t('Newest first') };
  const chosen = await vscode.window.showQuickPick([...points, start], options);
  if (!chosen) return;
  if (!(await confirm(ullage, sessionId, l10n.t('Restore this checkpoint?'), chosen.undone, l10n.t('Restore')))) return;
  const target = chosen.editId === null ? { timestamp: 0 } : { editId: chosen.editId };
  await revert(ullage, sessionId, () => ullage.sessions.request(ContextRestore, { sessionId, ...target }));
}

/** Searches the active session, or what the user's team shares: without a session at once, else as the user chooses. */
export const search: Command = async (ullage) => {
  const here = { label: `$(search) ${l10n.t('This conversation')}`, run: searchSession };
  const scopes = [here, { label: `$(organization) ${l10n.t('What your team shares')}`, run: searchTeam }];
  const chosen = ullage.sessions.activeSessionId === undefined ? scopes[1] : await vscode.window.showQuickPick(scopes, { title: l10n.t('Search'), placeHolder: l10n.t('Where?') });
  await chosen?.run(ullage);
};

export const searchSession: Command = async (ullage) => {
  const inSession = activeSession(ullage);
  const hit = await pickFound({
    title: SEARCH,
    placeholder: l10n.t('Words to find, archived or not'),
    pause: 0,
    find: async (query, token) => {
      const { hits, note } = await ullage.sessions.request(ContextSearch, { sessionId: inSession, query, limit: HITS }, token);
      return { hits, title: foundTitle(hits.length, note) };
    },
    asItem,
  });
  if (!hit) return;
  const { sessionId, messageId, index, role } = hit;
  const { entries: [entry] } = await ullage.sessions.request(ContextMessages, { sessionId, messageId });
  if (!entry) throw new Error(l10n.t('Message {0} is no longer in this session; search again.', numberOf(index)));
  await ullage.messages.show(`${sessionId}-${index}`, `${numberOf(index)} ${speaker(role)}`, messageMarkdown(entry.message));
};

function takesBack(edits: number): string {
  return edits === 1 ? l10n.t('takes back 1 edit') : l10n.t('takes back {0} edits', edits);
}

async function history(ullage: Ullage, sessionId: string): Promise<readonly UndoStep[]> {
  const { edits } = await ullage.sessions.request(ContextHistory, { sessionId });
  return undoSteps(edits);
}

async function confirm(
  ullage: Ullage,
  sessionId: string,
  question: string,
  steps: readonly UndoStep[],
  verb: string,
): Promise<boolean> {
  const entries = await contextEntries(ullage, sessionId);
  const { used = 0, size = null } = ullage.sessions.usage ?? {};
  const detail = bringsBack(steps, archivedBehind(steps, entries), used, size);
  return (await vscode.window.showInformationMessage(question, { modal: true, detail }, verb)) === verb;
}

async function revert(ullage: Ullage, sessionId: string, work: () => Promise<RevertResult>): Promise<void> {
  const before = ullage.sessions.usage?.used ?? 0;
  const { usage } = await work();
  await ullage.sessions.refreshEdits(sessionId);
  void vscode.window.showInformationMessage(l10n.t('Undone: {0}.', shrinking(before, usage.used)));
}

const SEARCH = l10n.t('Search everything ever said in this session');
/** The most messages that a search lists. */
const HITS = 50;

/** Returns the title that says how many were found, with the server's note. */
function foundTitle(count: number, note: string): string {
  const found = count === HITS ? l10n.t('Search everything ever said in this session: the best {0} found', count) : l10n.t('Search everything ever said in this session: {0} found', count);
  return note === '' ? found : `${found} (${note})`;
}

function asItem(hit: SearchHit): vscode.QuickPickItem {
  const detail = asLabel(oneLine(hit.snippet.replaceAll('**', ''), 200));
  return { label: `${numberOf(hit.index)} ${speaker(hit.role)}`, detail };
}
