/** The extension's side of one open Context view: answers the page, and sends it what changes. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import { errorText, isLost } from '../connection';
import { describe, type Health, NOT_SET_UP } from '../health';
import { isToldInView } from '../notices';
import { ContextGivenBack, ContextLost, ContextPin, ContextSearch, ContextUndo, type SessionNotification } from '../protocol.gen';
import type { SessionModel, UsageState } from '../sessions';
import { basisLines, type HealthSource } from '../statusBar';
import { pasteInto } from '../terminals';
import {
  type Given,
  type HostMessage,
  type HostMessageOf,
  isPageMessage,
  type Lost,
  type PageMessage,
  type PageMessageOf,
  type Usage,
} from './messages';
import { TranscriptFeed, type TranscriptReader, wholeParts } from './transcriptFeed';

/** Returns the figures that the page shows. */
export function toUsage({ used, size, meta, modelName }: UsageState): Usage {
  const { usable, warnAt, compactAt, level, source, messagesActive, messagesArchived } = meta;
  return {
    used,
    size,
    usable,
    warnAt,
    compactAt,
    level,
    source,
    breakdown: { ...meta.breakdown },
    model: modelName,
    messagesActive,
    messagesArchived,
    reportedAt: meta.reportedAt,
    asOf: meta.asOf,
    agent: meta.agent,
    managedBy: meta.managedBy,
    followed: meta.followed != null,
    basis: basisLines(meta),
    pendingMessages: meta.pendingMessages,
    errorShare: meta.errorShare,
  };
}

/** The figures that determine the entries: messages archived, compactions, messages active. */
export function shapeOf(state: UsageState | undefined): string {
  if (!state) return '';
  const { messagesArchived, compactions, messagesActive, source } = state.meta;
  return [messagesArchived, compactions, source === 'estimated' ? 'edited' : '', messagesActive].join(' ');
}

/** Whether messages were appended and nothing else changed. */
export function grew(before: string, after: string): boolean {
  const [was, is] = [before.split(' '), after.split(' ')];
  return was.slice(0, 3).join() === is.slice(0, 3).join() && Number(was[3]) < Number(is[3]);
}

/** The most entries of a kind: more than a user reads, and few enough for a page that is drawn at once. */
const LIMIT = 50;

/** Finds the terminal in which a conversation's agent runs. */
export interface TerminalFinder {
  of(sessionId: string): Promise<vscode.Terminal | undefined>;
}

export interface LostHostOptions {
  readonly model: Pick<SessionModel, 'request'>;
  readonly terminals: TerminalFinder;
  readonly post: (message: HostMessage) => void;
}

export class LostHost {
  readonly #options: LostHostOptions;
  /** The briefs that the page was sent, by session and edit. */
  readonly #briefs = new Map<string, string>();

  constructor(options: LostHostOptions) {
    this.#options = options;
  }

  /** Sends the page what a compaction left out, or why that is not known. */
  async show(sessionId: string, editId: string): Promise<void> {
    this.#options.post({ type: 'lost', lost: await this.#find(sessionId, editId) });
  }

  /** Puts the brief into the agent's terminal, as far as it still runs there. The user reads it, and presses Enter. */
  async giveBack(sessionId: string, editId: string): Promise<void> {
    const brief = this.#briefs.get(`${sessionId} ${editId}`);
    if (brief === undefined) return;
    const terminal = await this.#options.terminals.of(sessionId);
    if (terminal) pasteInto(terminal, brief);
    const text = terminal ? l10n.t('Put into the terminal “{0}”. Nothing is sent before you press Enter there.', terminal.name) : l10n.t('The agent no longer runs in a terminal of this window. Copy it instead.');
    this.#options.post({ type: 'notice', severity: terminal ? 'info' : 'warning', text, editId: null });
  }

  async #find(sessionId: string, editId: string): Promise<Lost> {
    try {
      const [{ readable, counts, missing, entries, brief }, given] = await Promise.all([
        this.#options.model.request(ContextLost, { sessionId, editId, limit: LIMIT }),
        this.#given(sessionId, editId),
      ]);
      const terminal = brief === '' ? undefined : await this.#options.terminals.of(sessionId);
      this.#briefs.set(`${sessionId} ${editId}`, brief);
      const listed = entries.map(({ kind, state, text, detail, index }) => ({ kind, state, text, detail, index }));
      return { editId, error: '', readable, counts, missing, entries: listed, brief, terminal: terminal?.name ?? null, given };
    } catch (error) {
      return { editId, error: errorText(error), readable: true, counts: {}, missing: {}, entries: [], brief: '', terminal: null, given: [] };
    }
  }

  async #given(sessionId: string, editId: string): Promise<Given[]> {
    const { rows } = await this.#options.model.request(ContextGivenBack, { sessionId });
    return rows.filter((row) => row.editId === editId).map(({ at, why, tokens, text }) => ({ at, why, tokens, text }));
  }
}

/** The parts of the extension that the view shows and uses. */
export interface ViewParts {
  readonly model: SessionModel;
  readonly connection: HealthSource;
  readonly terminals: TerminalFinder;
}

/** The most messages that a search lists. */
const HITS = 30;

const COMMANDS: Readonly<Record<PageMessageOf<'command'>['name'], string>> = {
  compact: 'ullage.compactContext',
  preview: 'ullage.previewCompaction',
  setWindow: 'ullage.setWindow',
  setUp: 'ullage.setUpServer',
  restart: 'ullage.restartServer',
  problem: 'ullage.showProblem',
  log: 'ullage.showLogs',
};

export class ViewHost implements vscode.Disposable {
  readonly #webview: vscode.Webview;
  readonly #parts: ViewParts;
  readonly #model: SessionModel;
  readonly #feed: TranscriptFeed;
  readonly #lost: LostHost;
  readonly #subscriptions: readonly { dispose(): unknown }[];
  #disposed = false;
  /** The session that the page has the title of. Figures of another one would stand under a wrong name. */
  #begun: string | undefined;

  constructor(webview: vscode.Webview, parts: ViewParts) {
    const { model, connection, terminals } = parts;
    this.#webview = webview;
    this.#parts = parts;
    this.#model = model;
    const post = (message: HostMessage): void => { this.#post(message); };
    this.#feed = new TranscriptFeed({ model, post, guarded: (work) => this.#guarded(work), begun: (sessionId) => {
      this.#begun = sessionId;
      this.#showFigures();
    } });
    this.#lost = new LostHost({ model, terminals, post });
    this.#subscriptions = [
      webview.onDidReceiveMessage((message: unknown) => {
        if (isPageMessage(message)) this.#answer(message);
      }),
      model.onDidChangeSession(() => { this.open(); }),
      model.onDidChangeUsage((usage) => { this.#showUsage(usage); }),
      model.onDidUpdate((note) => { this.#pass(note); }),
      connection.onDidChangeHealth((health) => { this.#post(serverState(health)); }),
    ];
  }

  dispose(): void {
    this.#disposed = true;
    this.#feed.close();
    for (const subscription of this.#subscriptions) subscription.dispose();
  }

  /** Shows the active session from its end. */
  open(): void {
    this.#post(serverState(this.#parts.connection.health));
    const sessionId = this.#model.activeSessionId;
    this.#begun = undefined;
    this.#feed.open(sessionId);
    if (sessionId === undefined) {
      this.#post({ type: 'session', sessionId: null, title: '', generation: 0, total: 0, reveal: null });
    }
  }

  /** Reads the transcript again, for example after a change for which the server sends no update. */
  refresh(): void {
    this.#feed.reread();
  }

  /** Shows the session's figures, and the compaction that runs. */
  #showFigures(): void {
    if (this.#model.usage) this.#showUsage(this.#model.usage);
    this.#showCompaction();
  }

  #showUsage(state: UsageState): void {
    if (state.sessionId !== this.#model.activeSessionId || state.sessionId !== this.#begun) return;
    this.#post({ type: 'usage', usage: toUsage(state) });
    this.#feed.takeFigures(state);
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
        this.#feed.takeEdit(meta?.messageId ?? null);
        return;
      }
      case 'compaction_summary_chunk':
        this.#post({ type: 'chunk', text: update.content.text });
        return;
      case 'notice': {
        const editId = update._meta?.ullage.editId ?? null;
        if (isToldInView(update)) this.#post({ type: 'notice', severity: update.severity, text: update.title, editId });
        if (editId !== null) this.#feed.takeEdit(null);
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
        void vscode.env.clipboard.writeText(message.text).then(() => this.#post({ type: 'notice', severity: 'info', text: l10n.t('Copied.'), editId: null }));
        return;
      default:
        void this.#guarded(() => this.#ask(message));
    }
  }

  async #ask(message: PageMessageOf<'load' | 'detail' | 'lost' | 'giveBack' | 'pin' | 'undo' | 'search'>): Promise<void> {
    const { reader } = this.#feed;
    if (!reader) return;
    const { sessionId } = reader;
    switch (message.type) {
      case 'load':
        return this.#load(reader, message);
      case 'detail': {
        const whole = await reader.message(message.offset, message.id);
        if (whole) this.#post({ type: 'detail', id: message.id, parts: wholeParts(whole) });
        return;
      }
      case 'lost':
        return this.#lost.show(sessionId, message.editId);
      case 'giveBack':
        return this.#lost.giveBack(sessionId, message.editId);
      case 'pin': {
        const { pinned } = await this.#model.request(ContextPin, { sessionId, messageId: message.id, pinned: message.pinned });
        this.#post({ type: 'pinned', ids: pinned });
        this.#post({ type: 'notice', severity: 'info', text: message.pinned ? l10n.t('Pinned: kept verbatim through every compaction.') : l10n.t('Unpinned.'), editId: null });
        return;
      }
      case 'undo':
        await this.#model.request(ContextUndo, { sessionId, editId: message.editId });
        this.#feed.reread();
        return;
      case 'search':
        return this.#search(sessionId, message.query);
    }
  }

  async #load(reader: TranscriptReader, { generation, offset, limit }: PageMessageOf<'load'>): Promise<void> {
    if (generation !== reader.generation) return;
    try {
      this.#post(await reader.page(offset, limit));
    } catch (error) {
      this.#post({ type: 'unread', generation, offset, error: errorText(error) });
    }
  }

  async #search(sessionId: string, query: string): Promise<void> {
    try {
      const { hits, note } = await this.#model.request(ContextSearch, { sessionId, query, limit: HITS });
      this.#post({ type: 'hits', query, hits: hits.map(({ messageId, index, role, snippet }) => ({ messageId, index, role, snippet })), full: hits.length === HITS, note, error: '' });
    } catch (error) {
      this.#post({ type: 'hits', query, hits: [], full: false, note: '', error: errorText(error) });
    }
  }

  /** Runs work and shows its error in the view. */
  async #guarded(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      // The view says already that the server is gone; when it is back, the view is drawn anew.
      if (!isLost(error)) this.#post({ type: 'notice', severity: 'error', text: errorText(error), editId: null });
    }
  }

  #post(message: HostMessage): void {
    if (!this.#disposed) void this.#webview.postMessage(message);
  }
}

export function serverState(health: Health): HostMessageOf<'server'> {
  switch (health.kind) {
    case 'idle':
      return { type: 'server', state: 'busy', text: '', actions: [] };
    case 'running':
      return { type: 'server', state: 'running', text: health.misfit, actions: health.misfit === '' ? [] : ['setUp', 'log'] };
    case 'missing': {
      const text = health.fixable && !health.lacksPython ? NOT_SET_UP : health.reason;
      return { type: 'server', state: 'down', text, actions: health.fixable ? ['setUp', 'problem'] : ['problem'] };
    }
    case 'stopped':
      return { type: 'server', state: 'down', text: health.reason, actions: ['restart', 'problem', 'log'] };
    default:
      return { type: 'server', state: 'busy', text: describe(health), actions: [] };
  }
}
