/** What is known of the conversations: those that are open, from the server's answers and updates, and those that agents keep on this machine. */
import * as path from 'node:path';

import * as vscode from 'vscode';

import { errorKind } from './connection';
import {
  type CompactionUpdate,
  ContextHistory,
  type Cost,
  type EditInfo,
  type FollowedConversation,
  type FoundTranscript,
  type Method,
  SessionLoad,
  type SessionNotification,
  type SessionResult,
  TranscriptsList,
  type UsageMeta,
  type UsageResult,
} from './protocol.gen';
import { oneLine, plainText } from './words';

/** A session's figures as the server last sent them, in tokens. `size` is null while the window is unknown. */
export interface UsageState {
  readonly sessionId: string;
  readonly title: string;
  readonly used: number;
  readonly size: number | null;
  readonly meta: UsageMeta;
  /** The model as users know it. */
  readonly modelName: string;
  /** The session's cost, if it is known. */
  readonly cost?: Cost | undefined;
  /** When the figures came, in Unix milliseconds. */
  readonly at: number;
}

const LEVELS = { far: 'normal', near: 'warning', imminent: 'critical', compacting: 'normal' } as const;

/**
 * Returns a session's figures with those of its row, if its conversation is followed: the row comes with every change of the
 * agent's file. Status bar, hover and view then tell one figure.
 */
export function withRow(usage: UsageState, row: FollowedConversation | undefined): UsageState {
  if (row?.used == null) return usage;
  const { meta } = usage;
  return {
    ...usage,
    title: row.title || usage.title,
    used: row.used,
    size: row.window,
    meta: {
      ...meta,
      source: row.usedSource ?? meta.source,
      percent: row.percent,
      compactAt: row.compactsAt,
      level: row.nearness ? LEVELS[row.nearness] : meta.level,
      // An estimate of calls belongs to the figure that it was made for.
      callsLeft: row.used === usage.used ? meta.callsLeft : null,
      idle: row.idle,
      cache: row.cache,
      moment: row.moment,
      rateLimits: row.rateLimits,
      agent: row.agent,
      followed: meta.followed ?? { agent: row.agent, path: row.path },
    },
  };
}

/** A running compaction. `text` is the summary as far as it is written. */
export interface CompactionState {
  readonly sessionId: string;
  readonly compactionId: string;
  readonly number: number;
  readonly trigger: 'automatic' | 'manual';
  /** Messages that will be archived. */
  readonly messages: number;
  /** Tokens of the whole context at the beginning. */
  readonly sizeBefore: number;
  readonly text: string;
}

/** The active session, and requests to the server. `Ullage` owns the object; all others only read it. */
export interface SessionModel {
  readonly activeSessionId: string | undefined;
  /** The last figures of the active session, or undefined before the first. */
  readonly usage: UsageState | undefined;
  /** The active session's compaction while one runs. */
  readonly compaction: CompactionState | undefined;
  readonly onDidChangeUsage: vscode.Event<UsageState>;
  readonly onDidChangeSession: vscode.Event<string | undefined>;
  /** Fires with every `ullage/session/update` of every session, unchanged. */
  readonly onDidUpdate: vscode.Event<SessionNotification>;
  request<P, R>(method: Method<P, R>, params: P, token?: vscode.CancellationToken): Promise<R>;
}

const REMEMBERED = 'ullage.activeSession';

/** A completed compaction: sizes of the whole context in tokens, and the edit to undo. */
export interface CompactionDone {
  readonly sessionId: string;
  readonly before: number;
  readonly after: number;
}

/** The functions of the connection that are used here. */
export interface Door {
  readonly onDidUpdate: vscode.Event<SessionNotification>;
  request<P, R>(method: Method<P, R>, params: NoInfer<P>, token?: vscode.CancellationToken): Promise<R>;
}

/** The conversations that are followed now. */
export interface Rows {
  readonly onDidChange: vscode.Event<readonly FollowedConversation[]>;
  row(sessionId: string | undefined): FollowedConversation | undefined;
}

interface Known {
  title: string;
  usage?: UsageState;
  compaction?: CompactionState | undefined;
  lastEdit?: EditInfo | undefined;
}

export class Sessions implements SessionModel, vscode.Disposable {
  readonly #usageChanged = new vscode.EventEmitter<UsageState>();
  readonly #sessionChanged = new vscode.EventEmitter<string | undefined>();
  readonly #compactionChanged = new vscode.EventEmitter<CompactionState | undefined>();
  readonly #compacted = new vscode.EventEmitter<CompactionDone>();
  readonly onDidChangeUsage = this.#usageChanged.event;
  readonly onDidChangeSession = this.#sessionChanged.event;
  readonly onDidChangeCompaction = this.#compactionChanged.event;
  readonly onDidCompact = this.#compacted.event;
  readonly onDidUpdate: vscode.Event<SessionNotification>;

  readonly #door: Door;
  readonly #memory: vscode.Memento;
  readonly #nameOf: (model: string) => string;
  readonly #rows: Rows | undefined;
  readonly #known = new Map<string, Known>();
  readonly #subscription: vscode.Disposable;
  #activeId: string | undefined;
  #isChosen = true;

  constructor(door: Door, memory: vscode.Memento, nameOf: (model: string) => string = (model) => model, rows?: Rows) {
    this.#door = door;
    this.#memory = memory;
    this.#nameOf = nameOf;
    this.#rows = rows;
    this.#activeId = memory.get<string>(REMEMBERED);
    this.onDidUpdate = door.onDidUpdate;
    this.#subscription = vscode.Disposable.from(
      door.onDidUpdate((note) => { this.#take(note); }),
      ...(rows ? [rows.onDidChange((changed) => { for (const { sessionId } of changed) this.#tell(sessionId); })] : []),
    );
  }

  get activeSessionId(): string | undefined {
    return this.#activeId;
  }

  /** Whether the user has chosen the active session. */
  get isChosen(): boolean {
    return this.#activeId !== undefined && this.#isChosen;
  }

  get usage(): UsageState | undefined {
    const usage = this.#active?.usage;
    return usage && withRow(usage, this.#rows?.row(this.#activeId));
  }

  get compaction(): CompactionState | undefined {
    return this.#active?.compaction;
  }

  get title(): string {
    return this.#active?.title ?? '';
  }

  /** The newest edit of the active session that is in force. */
  get lastEdit(): EditInfo | undefined {
    return this.#active?.lastEdit;
  }

  request<P, R>(method: Method<P, R>, params: NoInfer<P>, token?: vscode.CancellationToken): Promise<R> {
    return this.#door.request(method, params, token);
  }

  /** Makes a session the active one. Unless it was chosen for the user, this workspace remembers it. */
  async activate(session: SessionResult, isChosen = true): Promise<void> {
    this.#isChosen = isChosen;
    this.#activeId = session.sessionId;
    this.#learn(session.sessionId, session.title);
    this.#sessionChanged.fire(session.sessionId);
    this.#setUsage(session.sessionId, session.usage);
    if (isChosen) await this.#memory.update(REMEMBERED, session.sessionId);
    await this.refreshEdits(session.sessionId);
  }

  /** Opens the active session in a server that has just started. A session that no longer exists is forgotten. */
  async reload(): Promise<void> {
    // A compaction of the earlier server does not run any more.
    for (const known of this.#known.values()) known.compaction = undefined;
    this.#compactionChanged.fire(undefined);
    if (!this.#activeId) return;
    try {
      await this.activate(await this.request(SessionLoad, { sessionId: this.#activeId }), this.#isChosen);
    } catch (error) {
      if (errorKind(error) !== 'SessionNotFound') throw error;
      await this.leave(this.#activeId);
    }
  }

  /** Has no active session any more, if it was this one: it is no longer there. */
  async leave(sessionId: string): Promise<void> {
    this.#known.delete(sessionId);
    if (sessionId !== this.#activeId) return;
    this.#activeId = undefined;
    await this.#memory.update(REMEMBERED, undefined);
    this.#sessionChanged.fire(undefined);
  }

  /** Requests the figures again, for example after a change of settings. */
  async refresh(): Promise<void> {
    if (!this.#activeId) return;
    const { sessionId, usage } = await this.request(SessionLoad, { sessionId: this.#activeId });
    this.#setUsage(sessionId, usage);
  }

  async refreshEdits(sessionId: string): Promise<void> {
    const { edits } = await this.request(ContextHistory, { sessionId });
    const known = this.#known.get(sessionId);
    if (!known) return;
    known.lastEdit = edits.findLast((edit) => !edit.reverted);
    this.#tell(sessionId);
  }

  dispose(): void {
    vscode.Disposable.from(this.#subscription, this.#usageChanged, this.#sessionChanged).dispose();
    vscode.Disposable.from(this.#compactionChanged, this.#compacted).dispose();
  }

  get #active(): Known | undefined {
    return this.#activeId === undefined ? undefined : this.#known.get(this.#activeId);
  }

  #take({ sessionId, update }: SessionNotification): void {
    switch (update.sessionUpdate) {
      case 'usage_update':
        if (update._meta) this.#setUsage(sessionId, { ...update, _meta: update._meta });
        break;
      case 'session_info_update':
        if (update.title !== undefined) this.#learn(sessionId, update.title);
        if (update._meta) this.#setUsage(sessionId, { used: total(update._meta.ullage), size: null, _meta: update._meta });
        break;
      case 'compaction_update':
        this.#takeCompaction(sessionId, update);
        break;
      case 'compaction_summary_chunk':
        this.#extend(sessionId, update.compactionId, update.content.text);
        break;
      case 'notice':
        break;
    }
  }

  #takeCompaction(sessionId: string, update: CompactionUpdate): void {
    const figures = update._meta?.ullage;
    if (update.status === 'in_progress') {
      this.#setCompaction(sessionId, {
        sessionId,
        compactionId: update.compactionId,
        number: figures?.compactionNumber ?? 0,
        trigger: figures?.trigger === 'manual' ? 'manual' : 'automatic',
        messages: figures?.messagesArchived ?? 0,
        sizeBefore: figures?.contextSizeBefore ?? 0,
        text: '',
      });
      return;
    }
    this.#setCompaction(sessionId, undefined);
    if (update.status !== 'completed' || !figures) return;
    this.#compacted.fire({ sessionId, before: figures.contextSizeBefore, after: figures.contextSizeAfter });
  }

  #extend(sessionId: string, compactionId: string, text: string): void {
    const run = this.#known.get(sessionId)?.compaction;
    if (run?.compactionId !== compactionId) return;
    this.#setCompaction(sessionId, { ...run, text: run.text + text });
  }

  #setCompaction(sessionId: string, compaction: CompactionState | undefined): void {
    this.#entry(sessionId).compaction = compaction;
    if (sessionId === this.#activeId) this.#compactionChanged.fire(compaction);
  }

  #setUsage(sessionId: string, { used, size, cost, _meta }: UsageResult): void {
    const known = this.#entry(sessionId);
    const modelName = this.#nameOf(_meta.ullage.model);
    known.usage = { sessionId, title: known.title, used, size, cost, meta: _meta.ullage, modelName, at: Date.now() };
    this.#tell(sessionId);
  }

  /** Says that the figures of a session have changed, if it is the active one. */
  #tell(sessionId: string): void {
    const { usage } = this;
    if (usage && sessionId === this.#activeId) this.#usageChanged.fire(usage);
  }

  #learn(sessionId: string, title: string): void {
    const known = this.#entry(sessionId);
    known.title = title;
    if (!known.usage) return;
    known.usage = { ...known.usage, title };
    this.#tell(sessionId);
  }

  #entry(sessionId: string): Known {
    let known = this.#known.get(sessionId);
    if (!known) this.#known.set(sessionId, (known = { title: '' }));
    return known;
  }
}

/** Without a known window the server sends no total, so the parts are added up. */
function total(meta: UsageMeta): number {
  return Object.values<number>({ ...meta.breakdown }).reduce((sum, part) => sum + part, 0);
}

const TITLE = 120;

/** Returns at most `limit` conversations: those of a folder and the folders in it first, then the newest. Titles are plain text on one line. */
export async function findTranscripts(door: Pick<Door, 'request'>, folder: string, limit: number): Promise<readonly FoundTranscript[]> {
  const { transcripts } = await door.request(TranscriptsList, { cwd: folder, limit });
  return transcripts.map((one) => ({ ...one, title: oneLine(plainText(one.title), TITLE) || path.basename(one.path) }));
}

/** Returns the open folder, or an empty string without one. */
export function folder(): string {
  return vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? '';
}
