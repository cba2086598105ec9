/** Messages to the user, each event in one: the server's notices for the active conversation, and warnings of followed ones. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import { warningOf } from './conversations';
import type { Following } from './following';
import type { FollowedConversation, Notice, SessionNotification } from './protocol.gen';
import type { Sessions } from './sessions';
import { ANNOUNCED, asMessage, type Clock, goodMoment, idles, isCopy } from './words';

/** The most sessions whose last notice is kept until they are shown. */
const MAX_WAITING = 20;
const MUTED = 'ullage.mutedSessions';
/** Milliseconds that a notice waits for others to join or replace it. The progress of an import has disappeared by then. */
const GATHERING = 1_000;

interface Action {
  readonly title: string;
  readonly run: (sessionId: string, notice: Notice | undefined) => unknown;
}

/** A message that waits to be shown: the extension's own text, and a warning of the server. */
interface Held {
  readonly sessionId: string;
  readonly news: string;
  readonly warning: Notice | undefined;
}

export class Notices implements vscode.Disposable {
  readonly #sessions: Sessions;
  readonly #memory: vscode.Memento;
  readonly #isShown: () => boolean;
  readonly #subscription: vscode.Disposable;
  /** The last notice of each session that is not active. An import's notice comes before the import's answer. */
  readonly #waiting = new Map<string, SessionNotification>();
  readonly #actions: Readonly<Record<string, readonly Action[]>>;
  /** Sessions whose compaction is told elsewhere. */
  readonly #told = new Set<string>();
  #held: Held | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** `isShown` says whether the Context view is open: it tells of edits itself. */
  constructor(sessions: Sessions, memory: vscode.Memento, isShown: () => boolean = () => false) {
    this.#sessions = sessions;
    this.#memory = memory;
    this.#isShown = isShown;
    this.#subscription = vscode.Disposable.from(
      sessions.onDidUpdate((note) => { this.#take(note); }),
      sessions.onDidChangeSession((id) => { this.#takeWaiting(id ?? ''); }),
    );
    const undo: Action = {
      title: l10n.t('Undo'),
      run: (_, notice) => vscode.commands.executeCommand('ullage.undoCompaction', notice?._meta?.ullage.editId ?? undefined),
    };
    this.#actions = {
      context_warning: [
        command(COMPACT, 'ullage.compactContext'),
        command(l10n.t('Preview'), 'ullage.previewCompaction'),
        { title: l10n.t('Not for this conversation'), run: (sessionId) => this.#mute(sessionId) },
      ],
      compaction_due: [
        command(COMPACT, 'ullage.compactContext'),
        command(l10n.t('Preview'), 'ullage.previewCompaction'),
        { title: l10n.t('Not now'), run: () => undefined },
      ],
      compaction_complete: [SHOW, undo],
      offline_summary_used: [SHOW, undo],
      context_cleared: [SHOW, undo],
      compaction_failed: [command(l10n.t('Retry'), 'ullage.compactContext'), command(l10n.t('Show log'), 'ullage.showLogs')],
      breaker_opened: [SHOW, command(l10n.t('Preview'), 'ullage.previewCompaction')],
    };
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#subscription.dispose();
  }

  /** Shows a text about a session that becomes active, together with the server's notice about it. */
  announce(sessionId: string, news: string): void {
    this.#hold({ sessionId, news, warning: undefined });
  }

  /** Does work that compacts a session. What becomes of it is told elsewhere, so no message says it again. */
  async telling<R>(sessionId: string, work: () => Promise<R>): Promise<R> {
    this.#told.add(sessionId);
    try {
      return await work();
    } finally {
      this.#told.delete(sessionId);
    }
  }

  #take(note: SessionNotification): void {
    const { sessionId, update } = note;
    if (update.sessionUpdate !== 'notice') return;
    if (kindOf(update) === 'compaction_complete' && this.#told.has(sessionId)) return;
    if (sessionId !== this.#sessions.activeSessionId) {
      this.#keep(note);
      return;
    }
    const news = this.#held?.sessionId === sessionId ? this.#held.news : '';
    if (news === '' && isToldInView(update) && this.#isShown()) {
      this.#release();
      return;
    }
    switch (kindOf(update)) {
      // The status bar shows the running compaction, so no message is shown.
      case 'auto_compacting':
        if (news) this.#hold({ sessionId, news, warning: undefined });
        else this.#release();
        return;
      case 'context_warning':
        // Of an agent's conversation the user is warned whether or not the view shows it: see `following/warnings.ts`.
        if (this.#sessions.usage?.meta.followed) return;
        if (!this.#muted.includes(sessionId)) this.#hold({ sessionId, news, warning: update });
        return;
      default:
        this.#release();
        void this.#show(sessionId, news, update);
    }
  }

  #hold(held: Held): void {
    this.#held = held;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#release();
      if (held.sessionId === this.#sessions.activeSessionId) void this.#show(held.sessionId, held.news, held.warning);
    }, GATHERING);
  }

  #release(): void {
    clearTimeout(this.#timer);
    this.#held = undefined;
  }

  #keep(note: SessionNotification): void {
    this.#waiting.delete(note.sessionId);
    const [oldest] = this.#waiting.keys();
    if (oldest !== undefined && this.#waiting.size >= MAX_WAITING) this.#waiting.delete(oldest);
    this.#waiting.set(note.sessionId, note);
  }

  #takeWaiting(sessionId: string): void {
    const note = this.#waiting.get(sessionId);
    this.#waiting.delete(sessionId);
    if (note) this.#take(note);
  }

  async #show(sessionId: string, news: string, notice: Notice | undefined): Promise<void> {
    const text = asMessage([news, notice?.title, notice?.description].filter(Boolean).join(' '));
    const actions = notice ? this.#actionsOf(kindOf(notice)) : [SHOW];
    const chosen = await toast(notice?.severity ?? 'info', text, actions.map((action) => action.title));
    const action = actions.find(({ title }) => title === chosen);
    if (action && sessionId === this.#sessions.activeSessionId) await action.run(sessionId, notice);
  }

  /** A copy is not warned about for its own sake: compacting it does not help the program whose conversation it is. */
  #actionsOf(kind: string): readonly Action[] {
    const actions = this.#actions[kind] ?? [];
    const { usage } = this.#sessions;
    if (kind !== 'context_warning' || !usage || !isCopy(usage.meta)) return actions;
    return [SHOW, ...actions.filter(({ title }) => title !== COMPACT)];
  }

  get #muted(): readonly string[] {
    return this.#memory.get<string[]>(MUTED, []);
  }

  async #mute(sessionId: string): Promise<void> {
    await this.#memory.update(MUTED, [...this.#muted, sessionId].slice(-100));
  }
}

/** The action that compacts. */
const COMPACT = l10n.t('Compact now');
const SHOW = command(l10n.t('Show'), 'ullage.showContext');

/** Whether the open Context view says what a notice says: that an edit was made. What went wrong is a message in any case. */
export function isToldInView({ severity, _meta }: Notice): boolean {
  return severity === 'info' && (_meta?.ullage.editId ?? null) !== null;
}

function kindOf(notice: Notice): string {
  return notice._meta?.ullage.kind ?? '';
}

function command(title: string, id: string): Action {
  return { title, run: () => vscode.commands.executeCommand(id) };
}

function toast(severity: Notice['severity'], text: string, titles: readonly string[]): Thenable<string | undefined> {
  switch (severity) {
    case 'error':
      return vscode.window.showErrorMessage(text, ...titles);
    case 'warning':
      return vscode.window.showWarningMessage(text, ...titles);
    case 'info':
      return vscode.window.showInformationMessage(text, ...titles);
  }
}

/** The most warnings that are remembered as shown. */
const REMEMBERED = 200;
const SHOWN = 'ullage.shownWarnings';
const SHOW_IT = l10n.t('Show');
const COMPACT_IT = l10n.t('Compact…');
const CONTINUE = l10n.t('Continue in a New Session…');

export class Warnings implements vscode.Disposable {
  readonly #memory: vscode.Memento;
  readonly #isQuiet: () => boolean;
  readonly #subscription: vscode.Disposable;
  /** The conversations whose compaction was warned of since they last had room. */
  readonly #warned = new Set<string>();
  /** What waits until a conversation's compaction because it idles is near, by session, with the moment of that. */
  readonly #waiting = new Map<string, { readonly at: number; readonly timer: NodeJS.Timeout }>();
  readonly #following: Following;

  constructor(following: Following, memory: vscode.Memento, isQuiet: () => boolean) {
    this.#following = following;
    this.#memory = memory;
    this.#isQuiet = () => isQuiet() || following.isOnDesktop;
    // Only what this window shows: other windows have the others.
    this.#subscription = following.onDidChange((changed) => {
      const shown = new Set(following.shown.rows.map(({ sessionId }) => sessionId));
      for (const row of changed) if (shown.has(row.sessionId)) this.#take(row);
    });
  }

  dispose(): void {
    for (const { timer } of this.#waiting.values()) clearTimeout(timer);
    this.#subscription.dispose();
  }

  /** Announces a compaction because the conversation idles, once, some minutes before it. Whatever goes on meanwhile puts it off. */
  #announce({ sessionId, live, idle }: FollowedConversation): void {
    const waits = this.#waiting.get(sessionId);
    if (waits && waits.at === idle?.at) return;
    clearTimeout(waits?.timer);
    this.#waiting.delete(sessionId);
    if (!live || !idle || idle.at <= Date.now()) return;
    const timer = setTimeout(() => { void this.#offer(sessionId, idle.at); }, Math.max(0, idle.at - Date.now() - ANNOUNCED));
    this.#waiting.set(sessionId, { at: idle.at, timer });
  }

  async #offer(sessionId: string, at: number): Promise<void> {
    const row = this.#following.row(sessionId);
    if (!row?.live || row.idle?.at !== at || at <= Date.now() || this.#isQuiet()) return;
    const chosen = await vscode.window.showInformationMessage(asMessage(`${row.agent} ${idles(row.idle)}.`), COMPACT_IT, CONTINUE, l10n.t('Let it'));
    if (chosen === COMPACT_IT) await vscode.commands.executeCommand('ullage.compactContext', sessionId);
    if (chosen === CONTINUE) await vscode.commands.executeCommand('ullage.continueSession', sessionId);
  }

  /** Says once that now is a good moment to go on in a new session. */
  async #tellMoment(row: FollowedConversation & Pick<Clock, 'moment'>): Promise<void> {
    const { moment, sessionId, live, used, cache } = row;
    // eslint-disable-next-line texts/untranslated -- a key
    const key = `${sessionId} moment ${moment?.at ?? 0}`;
    const known = this.#memory.get<string[]>(SHOWN, []);
    if (!moment || !live || used === null || this.#isQuiet() || known.includes(key)) return;
    void this.#memory.update(SHOWN, [...known, key].slice(-REMEMBERED));
    const chosen = await vscode.window.showInformationMessage(asMessage(`${row.agent}: ${goodMoment(moment, used, cache, Date.now())}.`), CONTINUE, l10n.t('Let it'));
    if (chosen === CONTINUE) await vscode.commands.executeCommand('ullage.continueSession', sessionId);
  }

  #take(row: FollowedConversation): void {
    this.#announce(row);
    void this.#tellMoment(row);
    const isImminent = row.nearness === 'imminent';
    if (row.nearness === 'far' || row.nearness === null) this.#warned.delete(row.sessionId);
    if (!row.live || (this.#isQuiet() && !isImminent)) return;
    const known = this.#memory.get<string[]>(SHOWN, []);
    const keys = new Map(row.warnings.map((text) => [`${row.sessionId} ${text}`, text]));
    const fresh = [...keys].filter(([key]) => !known.includes(key));
    const isDue = isImminent && !this.#warned.has(row.sessionId);
    if (isDue) this.#warned.add(row.sessionId);
    if (fresh.length > 0) void this.#memory.update(SHOWN, [...known, ...fresh.map(([key]) => key)].slice(-REMEMBERED));
    if (isDue) void this.#show(row, [warningOf(row), ...fresh.map(([, text]) => text)].join(' '), vscode.window.showWarningMessage);
    else if (fresh.length > 0) void this.#show(row, `${row.agent}: ${fresh.map(([, text]) => text).join(' ')}`, vscode.window.showInformationMessage);
  }

  async #show(row: FollowedConversation, text: string, show: (text: string, ...actions: string[]) => Thenable<string | undefined>): Promise<void> {
    const chosen = await show(asMessage(text), SHOW_IT, COMPACT_IT);
    if (chosen === SHOW_IT) await vscode.commands.executeCommand('ullage.showAgents');
    if (chosen === COMPACT_IT) await vscode.commands.executeCommand('ullage.compactContext', row.sessionId);
  }
}
