/** Commands on archived messages: undo, restore, and search. */
import * as vscode from 'vscode';

import { archivedBehind, bringsBack, describeEdit, undoSteps, type UndoStep } from '../edits';
import { errorText, isCancelled } from '../errors';
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

/** Undoes the edit that the first argument names, or the last edit in force. */
export const undo: Command = async (ullage, editId) => {
  const sessionId = activeSession(ullage);
  const steps = await history(ullage, sessionId);
  const step = typeof editId === 'string' ? steps.find(({ edit }) => edit.id === editId) : steps[0];
  if (!step) {
    void vscode.window.showInformationMessage('Nothing to undo: no compaction is in force.');
    return;
  }
  const question = `Undo this? The ${describeEdit(step.edit, Date.now())}`;
  if (!(await confirm(ullage, sessionId, question, [step], 'Undo'))) return;
  await revert(ullage, sessionId, () => ullage.sessions.request(ContextUndo, { sessionId, editId: step.edit.id }));
};

export const restore: Command = async (ullage) => {
  const sessionId = activeSession(ullage);
  const steps = await history(ullage, sessionId);
  const points = steps.map((step, index) => ({
    label: `$(history) After the ${describeEdit(step.edit, Date.now())}`,
    description: index === 0 ? 'as it is now' : `takes back ${index}`,
    editId: step.edit.id,
    undone: steps.slice(0, index),
  }));
  const start = { label: '$(debug-restart) Before every compaction', description: `takes back ${steps.length}`, editId: null, undone: steps };
  const options = { title: 'Restore a checkpoint: every later edit is taken back', placeHolder: 'Newest first' };
  const chosen = await vscode.window.showQuickPick([...points, start], options);
  if (!chosen || chosen.undone.length === 0) return;
  if (!(await confirm(ullage, sessionId, 'Restore this checkpoint?', chosen.undone, 'Restore'))) return;
  const target = chosen.editId === null ? { timestamp: 0 } : { editId: chosen.editId };
  await revert(ullage, sessionId, () => ullage.sessions.request(ContextRestore, { sessionId, ...target }));
};

export const search: Command = async (ullage) => {
  const hit = await pickHit(ullage, activeSession(ullage));
  if (!hit) return;
  const { sessionId, messageId, index, role } = hit;
  const { entries: [entry] } = await ullage.sessions.request(ContextMessages, { sessionId, messageId });
  if (!entry) throw new Error(`Message ${numberOf(index)} is no longer in this session; search again.`);
  await ullage.messages.show(`${sessionId}-${index}`, `${numberOf(index)} ${speaker(role)}`, messageMarkdown(entry.message));
};

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
  void vscode.window.showInformationMessage(`Undone: ${shrinking(before, usage.used)}.`);
}

type HitItem = vscode.QuickPickItem & { readonly hit: SearchHit };

const SEARCH = 'Search everything ever said in this session';
/** The most messages that a search lists. */
const HITS = 50;

/** Shows results while the user types. A newer search cancels an older one. */
async function pickHit(ullage: Ullage, sessionId: string): Promise<SearchHit | undefined> {
  const pick = vscode.window.createQuickPick<HitItem>();
  pick.title = SEARCH;
  pick.matchOnDetail = true;
  pick.placeholder = 'Words to find, archived or not';
  let source = new vscode.CancellationTokenSource();
  pick.onDidChangeValue((value) => {
    source.cancel();
    source = new vscode.CancellationTokenSource();
    void find(ullage, sessionId, pick, value, source.token);
  });
  try {
    return await new Promise((resolve) => {
      pick.onDidAccept(() => { resolve(pick.activeItems[0]?.hit); });
      pick.onDidHide(() => { resolve(undefined); });
      pick.show();
    });
  } finally {
    source.cancel();
    pick.dispose();
  }
}

async function find(
  ullage: Ullage,
  sessionId: string,
  pick: vscode.QuickPick<HitItem>,
  query: string,
  token: vscode.CancellationToken,
): Promise<void> {
  pick.busy = true;
  try {
    const { hits, note } = query.trim()
      ? await ullage.sessions.request(ContextSearch, { sessionId, query, limit: HITS }, token)
      : { hits: [], note: '' };
    if (token.isCancellationRequested) return;
    pick.items = hits.map(asItem);
    pick.title = query.trim() ? `${SEARCH}: ${hits.length === HITS ? `the best ${HITS}` : hits.length} found${note && ` (${note})`}` : SEARCH;
  } catch (error) {
    if (isCancelled(error)) return;
    pick.items = [];
    pick.title = errorText(error);
  } finally {
    if (!token.isCancellationRequested) pick.busy = false;
  }
}

/** Keeps the editor's own filter from hiding results of the server. */
function asItem(hit: SearchHit): HitItem {
  const detail = asLabel(oneLine(hit.snippet.replaceAll('**', ''), 200));
  return { label: `${numberOf(hit.index)} ${speaker(hit.role)}`, detail, alwaysShow: true, hit };
}
