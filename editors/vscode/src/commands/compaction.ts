/** Commands that compact, preview a compaction, undo it, and search what was archived. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import { errorText, isCancelled } from '../connection';
import type { Ullage } from '../extension';
import {
  type CompactParams,
  ContextCommit,
  ContextCompact,
  ContextHistory,
  ContextMessages,
  ContextRestore,
  ContextSearch,
  ContextUndo,
  type EditInfo,
  type Entry,
  type RevertResult,
  type SearchHit,
  SessionCancel,
  type TeamHitRow,
  TeamOpen,
  TeamSearch,
} from '../protocol.gen';
import {
  ago,
  asLabel,
  asMessage,
  full,
  inPercent,
  isCopy,
  messageMarkdown,
  messages,
  numberOf,
  oneLine,
  original,
  short,
  shrinking,
  speaker,
  triggerWord,
} from '../words';
import { type Kept, offerCompaction, sessionOf } from './agents';
import { activeSession, type Command, withProgress } from './guard';
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
  if (!entry) throw new Error(l10n.t('Message {0} is no longer in this conversation; search again.', numberOf(index)));
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

const SEARCH = l10n.t('Search everything ever said in this conversation');
/** The most messages that a search lists. */
const HITS = 50;

/** Returns the title that says how many were found, with the server's note. */
function foundTitle(count: number, note: string): string {
  const found = count === HITS ? l10n.t('Search everything ever said in this conversation: the best {0} found', count) : l10n.t('Search everything ever said in this conversation: {0} found', count);
  return note === '' ? found : `${found} (${note})`;
}

function asItem(hit: SearchHit): vscode.QuickPickItem {
  const detail = asLabel(oneLine(hit.snippet.replaceAll('**', ''), 200));
  return { label: `${numberOf(hit.index)} ${speaker(hit.role)}`, detail };
}

/** An edit with the smaller edits that were made, and are undone, together with it. */
export interface UndoStep {
  readonly edit: EditInfo;
  readonly tokens: number;
}

/** Returns the edits in force, newest first. */
export function undoSteps(edits: readonly EditInfo[]): readonly UndoStep[] {
  const inForce = edits.filter((edit) => !edit.reverted);
  return inForce
    .filter((edit) => !edit.partOf)
    .map((edit) => {
      const parts = inForce.filter((other) => other.id === edit.id || other.partOf === edit.id);
      return { edit, tokens: parts.reduce((sum, part) => sum + part.tokensSaved, 0) };
    })
    .reverse();
}

const KINDS: Readonly<Record<string, string>> = {
  compaction: l10n.t('Compaction'),
  clear_tool_uses: l10n.t('Clearing of old tool results'),
  clear_thinking: l10n.t('Clearing of older thinking'),
  duplicate_reads: l10n.t('Clearing of repeated reads'),
  drop: l10n.t('Dropping of the oldest messages'),
  rewind: l10n.t('Going back to an earlier message'),
  shorten: l10n.t('Shortening of large parts'),
};

/** Describes an edit: `Compaction (automatic), 2 hours ago`. */
export function describeEdit({ kind, timestamp, trigger }: EditInfo, now: number): string {
  return l10n.t({ message: '{0} ({1}), {2}', args: [KINDS[kind] ?? kind, triggerWord(trigger), ago(timestamp, now)], comment: ['An edit, what triggered it, and its age: Compaction (automatic), 2 hours ago.'] });
}

/** Describes undoing edits: `Brings back 44 messages, 122K tokens; the context will be at 98%.` */
export function bringsBack(steps: readonly UndoStep[], archived: number, used: number, size: number | null): string {
  const tokens = steps.reduce((sum, step) => sum + step.tokens, 0);
  const after = used + tokens;
  const back = archived > 0 ? l10n.t('{0}, {1} tokens', messages(archived), short(tokens)) : l10n.t('{0} tokens', short(tokens));
  const then = size === null ? l10n.t('{0} tokens', full(after)) : l10n.t('{0} ({1} of {2})', inPercent(after, size), short(after), short(size));
  return l10n.t('Brings back {0}; the context will be at {1}.', back, then);
}

/** Counts the messages that these edits' markers archived. */
export function archivedBehind(steps: readonly UndoStep[], entries: readonly Entry[]): number {
  const markers = new Set(steps.map((step) => `${step.edit.id}-marker`));
  const blocks = entries.filter((entry) => markers.has(entry.message.id)).flatMap((entry) => entry.message.content);
  return blocks.reduce((sum, block) => sum + (block.type === 'context_compaction' ? block.messages_archived : 0), 0);
}

const TEAM_TITLE = l10n.t('Search what your team shares');
/** The most messages that a search lists. */
const TEAM_HITS = 30;
/** Milliseconds without a key before a search begins: it asks a server. */
const TEAM_PAUSE = 300;

const searchTeam: Command = async (ullage) => {
  const hit = await pickFound({
    title: TEAM_TITLE,
    placeholder: l10n.t('Words to find'),
    pause: TEAM_PAUSE,
    find: async (query, token) => {
      const { hits } = await ullage.sessions.request(TeamSearch, { query, limit: TEAM_HITS }, token);
      return { hits, title: l10n.t('Search what your team shares: {0} found', hits.length) };
    },
    asItem: teamItem,
  });
  if (!hit) return;
  const { sessionId, index } = hit;
  const { text } = await ullage.sessions.request(TeamOpen, { sessionId, index });
  await ullage.messages.show(`${sessionId}-${index}`, `${hit.owner} ${placeOf(hit)}`, text);
};

/** The user who speaks there is not the one who reads this. */
function placeOf({ index, role, owner }: TeamHitRow): string {
  return `${numberOf(index)} ${role === 'user' ? owner : speaker(role)}`;
}

function teamItem(hit: TeamHitRow): vscode.QuickPickItem {
  const label = asLabel(oneLine(`${hit.owner} · ${hit.title || hit.folder}`, 80));
  // Without a title, the label has the folder.
  const description = asLabel(oneLine(hit.title ? `${placeOf(hit)} · ${hit.folder}` : placeOf(hit), 80));
  return { label, description, detail: asLabel(oneLine(hit.snippet.replaceAll('**', ''), 200)) };
}

/** What the server finds, and the title that says how much that is. */
export interface Found<Hit> {
  readonly hits: readonly Hit[];
  readonly title: string;
}

interface Search<Hit> {
  readonly title: string;
  readonly placeholder: string;
  /** Milliseconds without a key before a search begins. */
  readonly pause: number;
  readonly find: (query: string, token: vscode.CancellationToken) => Promise<Found<Hit>>;
  readonly asItem: (hit: Hit) => vscode.QuickPickItem;
}

/** Returns the hit that the user chooses. A newer search cancels an older one. */
export async function pickFound<Hit>(search: Search<Hit>): Promise<Hit | undefined> {
  const pick = vscode.window.createQuickPick<vscode.QuickPickItem & { readonly hit: Hit }>();
  pick.title = search.title;
  pick.placeholder = search.placeholder;
  pick.matchOnDetail = true;
  let source = new vscode.CancellationTokenSource();
  let pause: NodeJS.Timeout | undefined;
  const show = async (query: string, token: vscode.CancellationToken): Promise<void> => {
    pick.busy = true;
    try {
      const { hits, title } = query === '' ? { hits: [], title: search.title } : await search.find(query, token);
      if (token.isCancellationRequested) return;
      // Keeps the editor's own filter from hiding results of the server.
      pick.items = hits.map((hit) => ({ ...search.asItem(hit), alwaysShow: true, hit }));
      pick.title = title;
    } catch (error) {
      if (isCancelled(error) || token.isCancellationRequested) return;
      pick.items = [];
      pick.title = errorText(error);
    } finally {
      if (!token.isCancellationRequested) pick.busy = false;
    }
  };
  pick.onDidChangeValue((value) => {
    clearTimeout(pause);
    source.cancel();
    source = new vscode.CancellationTokenSource();
    const { token } = source;
    pause = setTimeout(() => { void show(value.trim(), token); }, search.pause);
  });
  try {
    return await new Promise((resolve) => {
      pick.onDidAccept(() => { resolve(pick.activeItems[0]?.hit); });
      pick.onDidHide(() => { resolve(undefined); });
      pick.show();
    });
  } finally {
    clearTimeout(pause);
    source.cancel();
    pick.dispose();
  }
}
