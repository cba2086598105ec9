/** The server's notices for the active session, as toasts with what can be done. The words are the server's. */
import * as vscode from 'vscode';

import type { Notice, SessionNotification } from './protocol.gen';
import type { Sessions } from './sessions';

/** Sessions whose last notice is kept until they are shown. */
const MAX_WAITING = 20;
const MUTED = 'ullage.mutedSessions';

interface Action {
  readonly title: string;
  readonly run: (sessionId: string, notice: Notice) => unknown;
}

export class Notices implements vscode.Disposable {
  readonly #sessions: Sessions;
  readonly #memory: vscode.Memento;
  readonly #subscription: vscode.Disposable;
  /** The last notice of sessions that are not shown. That of an import comes before the import's answer. */
  readonly #waiting = new Map<string, SessionNotification>();
  readonly #actions: Readonly<Record<string, readonly Action[]>>;

  constructor(sessions: Sessions, memory: vscode.Memento) {
    this.#sessions = sessions;
    this.#memory = memory;
    this.#subscription = vscode.Disposable.from(
      sessions.onDidUpdate((note) => { this.#take(note); }),
      sessions.onDidChangeSession((id) => { this.#takeWaiting(id ?? ''); }),
    );
    const show = command('Show', 'ullage.showContext');
    const undo: Action = {
      title: 'Undo',
      run: (_, notice) => vscode.commands.executeCommand('ullage.undoCompaction', notice._meta?.ullage.editId ?? undefined),
    };
    this.#actions = {
      context_warning: [
        command('Compact now', 'ullage.compactContext'),
        command('Preview', 'ullage.previewCompaction'),
        { title: 'Not for this session', run: (sessionId) => this.#mute(sessionId) },
      ],
      compaction_complete: [show, undo],
      context_cleared: [show, undo],
      compaction_failed: [command('Retry', 'ullage.compactContext'), command('Show log', 'ullage.showLogs')],
      breaker_opened: [show, command('Preview', 'ullage.previewCompaction')],
    };
  }

  dispose(): void {
    this.#subscription.dispose();
  }

  #take(note: SessionNotification): void {
    const { sessionId, update } = note;
    if (update.sessionUpdate !== 'notice') return;
    if (sessionId !== this.#sessions.activeSessionId) {
      this.#keep(note);
      return;
    }
    const kind = update._meta?.ullage.kind ?? '';
    // The status bar shows that it runs; a toast would only be in the way.
    if (kind === 'auto_compacting') return;
    if (kind === 'context_warning' && this.#muted.includes(sessionId)) return;
    void this.#show(sessionId, update, this.#actions[kind] ?? []);
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

  async #show(sessionId: string, notice: Notice, actions: readonly Action[]): Promise<void> {
    const text = notice.description ? `${notice.title} ${notice.description}` : notice.title;
    const chosen = await toast(notice.severity, text, actions.map((action) => action.title));
    const action = actions.find(({ title }) => title === chosen);
    if (action && sessionId === this.#sessions.activeSessionId) await action.run(sessionId, notice);
  }

  get #muted(): readonly string[] {
    return this.#memory.get<string[]>(MUTED, []);
  }

  async #mute(sessionId: string): Promise<void> {
    await this.#memory.update(MUTED, [...this.#muted, sessionId].slice(-100));
  }
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
