/** The extension's side of one open Context view: answers the page, and sends it what changes. */
import * as vscode from 'vscode';

import type { Chat } from '../chat';
import { ContextPin, ContextSearch, ContextUndo, type SessionNotification } from '../protocol.gen';
import type { SessionModel, UsageState } from '../session';
import { ChatHost } from './chatHost';
import { toEditLine, wholeParts } from './entries';
import { type HostMessage, isPageMessage, type PageMessage, type PageMessageOf, type Usage } from './messages';
import { TranscriptReader } from './transcriptReader';

/** The most messages that are read at once after appends. */
const APPENDED = 500;
const HITS = 30;

const COMMANDS: Readonly<Record<PageMessageOf<'command'>['name'], string>> = {
  compact: 'ullage.compactContext',
  preview: 'ullage.previewCompaction',
  new: 'ullage.newSession',
  import: 'ullage.importTranscript',
  switch: 'ullage.switchSession',
  setWindow: 'ullage.setWindow',
};

export class ViewHost implements vscode.Disposable {
  readonly #webview: vscode.Webview;
  readonly #model: SessionModel;
  readonly #chat: ChatHost;
  readonly #subscriptions: readonly { dispose(): unknown }[];
  #reader: TranscriptReader | undefined;
  #generation = 0;
  #shape = '';
  #following = false;
  #stale = false;
  #edited = false;
  #reveal: string | null = null;
  #settling = false;
  #disposed = false;

  constructor(webview: vscode.Webview, model: SessionModel, chat: Chat) {
    this.#webview = webview;
    this.#model = model;
    this.#chat = new ChatHost({
      chat,
      sessionId: () => model.activeSessionId,
      post: (message) => { this.#post(message); },
      ended: () => { this.#settle(); },
    });
    this.#subscriptions = [
      this.#chat,
      webview.onDidReceiveMessage((message: unknown) => {
        if (isPageMessage(message)) this.#answer(message);
      }),
      model.onDidChangeSession(() => { this.open(); }),
      model.onDidChangeUsage((usage) => { this.#showUsage(usage); }),
      model.onDidUpdate((note) => { this.#pass(note); }),
    ];
  }

  dispose(): void {
    this.#disposed = true;
    for (const subscription of this.#subscriptions) subscription.dispose();
  }

  /** Shows the active session from its end. */
  open(): void {
    this.#reader = undefined;
    this.#shape = '';
    const sessionId = this.#model.activeSessionId;
    if (sessionId === undefined) {
      this.#post({ type: 'session', sessionId: null, title: '', generation: 0, total: 0, reveal: null });
      return;
    }
    this.#reader = new TranscriptReader(this.#model, sessionId);
    this.#reread();
    if (this.#model.usage) this.#showUsage(this.#model.usage);
    this.#showCompaction();
    this.#chat.show();
  }

  /** Reads the transcript again, for example after a change for which the server sends no update. */
  refresh(): void {
    if (this.#reader) this.#reread();
  }

  /** Drops the live answer after it ended, once it was read from the transcript. */
  #settle(): void {
    this.#settling = true;
    this.#follow();
  }

  #reread(): void {
    this.#edited = true;
    this.#shape = 'unread';
    this.#follow();
  }

  /** Brings the page up to date. One round runs at a time, and changes in the meantime cause one more round. */
  #follow(): void {
    this.#stale = true;
    if (!this.#following) void this.#rounds();
  }

  async #rounds(): Promise<void> {
    this.#following = true;
    while (this.#stale && !this.#disposed) {
      this.#stale = false;
      await this.#guarded(() => this.#round());
    }
    this.#following = false;
    if (!this.#settling) return;
    this.#settling = false;
    this.#chat.show();
  }

  async #round(): Promise<void> {
    const reader = this.#reader;
    if (!reader) return;
    const anew = this.#shape === 'unread';
    if (anew || (this.#edited && (await reader.edited()))) return this.#begin(reader);
    this.#edited = false;
    const page = await reader.appended(APPENDED);
    if (!page) return this.#begin(reader);
    if (reader !== this.#reader || page.items.length === 0) return;
    this.#post(page);
    if (page.items.length === APPENDED) this.#stale = true;
  }

  async #begin(reader: TranscriptReader): Promise<void> {
    this.#edited = false;
    this.#shape = shapeOf(this.#model.usage);
    this.#generation += 1;
    await reader.begin(this.#generation);
    if (reader !== this.#reader) return;
    const title = this.#model.usage?.title ?? '';
    const { sessionId, generation, total } = reader;
    this.#post({ type: 'session', sessionId, title, generation, total, reveal: this.#reveal });
    this.#reveal = null;
    this.#post({ type: 'history', edits: reader.edits.map(toEditLine) });
    if (this.#model.usage) this.#post({ type: 'usage', usage: toUsage(this.#model.usage) });
    this.#showCompaction();
  }

  #showUsage(state: UsageState): void {
    if (state.sessionId !== this.#model.activeSessionId) return;
    this.#post({ type: 'usage', usage: toUsage(state) });
    this.#showPrompting();
    const shape = shapeOf(state);
    if (this.#shape === 'unread' || shape === this.#shape) return;
    // Appends only add messages. If anything else changed, an edit was made or undone.
    this.#edited ||= !grew(this.#shape, shape);
    this.#shape = shape;
    this.#follow();
  }

  #showPrompting(): void {
    const { prompting } = this.#model;
    if (prompting) this.#post({ type: 'prompting', remedy: prompting.provider === null ? prompting.remedy : null });
  }

  #showCompaction(): void {
    const run = this.#model.compaction;
    if (!run || run.sessionId !== this.#model.activeSessionId) return;
    this.#post({ type: 'compacting', number: run.number, trigger: run.trigger, messages: run.messages, before: run.sizeBefore, summary: run.text });
  }

  #pass({ sessionId, update }: SessionNotification): void {
    if (sessionId !== this.#model.activeSessionId) return;
    switch (update.sessionUpdate) {
      case 'compaction_update': {
        const meta = update._meta?.ullage;
        if (update.status === 'in_progress') {
          this.#post({ type: 'compacting', number: meta?.compactionNumber ?? 0, trigger: meta?.trigger ?? '', messages: meta?.messagesArchived ?? 0, before: meta?.contextSizeBefore ?? 0, summary: '' });
          return;
        }
        this.#post({ type: 'compacted', status: update.status, error: update.error ?? '' });
        if (update.status !== 'completed') return;
        // A user who reads an answer while it is written must not be moved away from it.
        this.#reveal = this.#chat.running ? null : (meta?.messageId ?? null);
        this.#edited = true;
        this.#follow();
        return;
      }
      case 'compaction_summary_chunk':
        this.#post({ type: 'chunk', text: update.content.text });
        return;
      case 'notice': {
        const editId = update._meta?.ullage.editId ?? null;
        this.#post({ type: 'notice', severity: update.severity, text: update.title, editId });
        if (editId === null) return;
        this.#edited = true;
        this.#follow();
        return;
      }
      default:
        return;
    }
  }

  #answer(message: PageMessage): void {
    switch (message.type) {
      case 'ready':
        this.open();
        return;
      case 'cancel':
        void vscode.commands.executeCommand('ullage.cancelCompaction');
        return;
      case 'command':
        void vscode.commands.executeCommand(COMMANDS[message.name]);
        return;
      case 'copy':
        void vscode.env.clipboard.writeText(message.text).then(() => this.#post({ type: 'notice', severity: 'info', text: 'Copied.', editId: null }));
        return;
      case 'prompt':
      case 'stop':
      case 'withdraw':
        this.#chat.answer(message);
        return;
      default:
        void this.#guarded(() => this.#ask(message));
    }
  }

  async #ask(message: PageMessageOf<'load' | 'detail' | 'pin' | 'undo' | 'search'>): Promise<void> {
    const reader = this.#reader;
    if (!reader) return;
    const { sessionId } = reader;
    switch (message.type) {
      case 'load':
        if (message.generation === reader.generation) this.#post(await reader.page(message.offset, message.limit));
        return;
      case 'detail': {
        const whole = await reader.message(message.offset, message.id);
        if (whole) this.#post({ type: 'detail', id: message.id, parts: wholeParts(whole) });
        return;
      }
      case 'pin': {
        const { pinned } = await this.#model.request(ContextPin, { sessionId, messageId: message.id, pinned: message.pinned });
        this.#post({ type: 'pinned', ids: pinned });
        this.#post({ type: 'notice', severity: 'info', text: message.pinned ? 'Pinned: kept verbatim through every compaction.' : 'Unpinned.', editId: null });
        return;
      }
      case 'undo':
        await this.#model.request(ContextUndo, { sessionId, editId: message.editId });
        this.#reread();
        return;
      case 'search':
        return this.#search(sessionId, message.query);
    }
  }

  async #search(sessionId: string, query: string): Promise<void> {
    try {
      const { hits } = await this.#model.request(ContextSearch, { sessionId, query, limit: HITS });
      this.#post({ type: 'hits', query, hits: hits.map(({ messageId, index, role, snippet }) => ({ messageId, index, role, snippet })), error: '' });
    } catch (error) {
      this.#post({ type: 'hits', query, hits: [], error: textOf(error) });
    }
  }

  /** Runs work and shows its error in the view. */
  async #guarded(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#post({ type: 'notice', severity: 'error', text: textOf(error), editId: null });
    }
  }

  #post(message: HostMessage): void {
    if (!this.#disposed) void this.#webview.postMessage(message);
  }
}

function toUsage({ used, size, meta }: UsageState): Usage {
  const { usable, warnAt, compactAt, level, source, model, messagesActive, messagesArchived } = meta;
  return {
    used,
    size,
    usable,
    warnAt,
    compactAt,
    level,
    source,
    breakdown: { ...meta.breakdown },
    model,
    messagesActive,
    messagesArchived,
    reportedAt: meta.reportedAt,
    pendingMessages: meta.pendingMessages,
    errorShare: meta.errorShare,
  };
}

/** The figures that determine the entries: messages archived, compactions, messages active. */
function shapeOf(state: UsageState | undefined): string {
  if (!state) return '';
  const { messagesArchived, compactions, messagesActive, source } = state.meta;
  return [messagesArchived, compactions, source === 'estimated' ? 'edited' : '', messagesActive].join(' ');
}

/** Whether messages were appended and nothing else changed. */
function grew(before: string, after: string): boolean {
  const [was, is] = [before.split(' '), after.split(' ')];
  return was.slice(0, 3).join() === is.slice(0, 3).join() && Number(was[3]) < Number(is[3]);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
