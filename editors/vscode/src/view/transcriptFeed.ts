/**
 * Keeps the page's transcript up to date. Appended messages are sent alone. After an edit or its undo the transcript
 * is read again, as a new generation. One round runs at a time, and changes in the meantime cause one more round.
 */
import type { SessionModel, UsageState } from '../session';
import { toEditLine } from './entries';
import type { HostMessage } from './messages';
import { TranscriptReader } from './transcriptReader';
import { grew, shapeOf } from './usage';

/** The most messages that are read at once after appends. */
const APPENDED = 500;
/** The shape of a transcript that has to be read again. */
const UNREAD = 'unread';

export interface FeedOptions {
  readonly model: SessionModel;
  readonly post: (message: HostMessage) => void;
  /** Runs work and shows its error to the user. */
  readonly guarded: (work: () => Promise<void>) => Promise<void>;
  /** Called after the page was told of a new generation. */
  readonly begun: () => void;
}

export class TranscriptFeed {
  readonly #options: FeedOptions;
  #reader: TranscriptReader | undefined;
  #generation = 0;
  #shape = '';
  #following = false;
  #stale = false;
  #edited = false;
  #reveal: string | null = null;
  /** What to do when the page is up to date. */
  #then: (() => void) | undefined;
  #closed = false;

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  /** The reader of the shown session, or undefined without a session. */
  get reader(): TranscriptReader | undefined {
    return this.#reader;
  }

  close(): void {
    this.#closed = true;
  }

  /** Feeds another session's transcript, or none. */
  open(sessionId: string | undefined): void {
    this.#reader = sessionId === undefined ? undefined : new TranscriptReader(this.#options.model, sessionId);
    this.#shape = '';
    this.reread();
  }

  /** Reads the transcript again, for example after a change for which the server sends no update. */
  reread(): void {
    if (!this.#reader) return;
    this.#shape = UNREAD;
    this.#follow();
  }

  /** Called when an edit was made. `reveal` is the id of the marker to bring into view, or null. */
  takeEdit(reveal: string | null): void {
    this.#reveal = reveal ?? this.#reveal;
    this.#edited = true;
    this.#follow();
  }

  /** Called with new figures. They tell whether messages were appended, or an edit was made or undone. */
  takeFigures(state: UsageState): void {
    const shape = shapeOf(state);
    if (this.#shape === UNREAD || shape === this.#shape) return;
    // Appends only add messages. If anything else changed, an edit was made or undone.
    this.#edited ||= !grew(this.#shape, shape);
    this.#shape = shape;
    this.#follow();
  }

  /** Calls `then` as soon as the page has everything that is in the transcript. */
  whenRead(then: () => void): void {
    this.#then = then;
    this.#follow();
  }

  #follow(): void {
    this.#stale = true;
    if (!this.#following) void this.#rounds();
  }

  async #rounds(): Promise<void> {
    this.#following = true;
    while (this.#stale && !this.#closed) {
      this.#stale = false;
      await this.#options.guarded(() => this.#round());
    }
    this.#following = false;
    const then = this.#then;
    this.#then = undefined;
    then?.();
  }

  async #round(): Promise<void> {
    const reader = this.#reader;
    if (!reader) return;
    if (this.#shape === UNREAD || (this.#edited && (await reader.edited()))) return this.#begin(reader);
    this.#edited = false;
    const page = await reader.appended(APPENDED);
    if (!page) return this.#begin(reader);
    if (reader !== this.#reader || page.items.length === 0) return;
    this.#options.post(page);
    if (page.items.length === APPENDED) this.#stale = true;
  }

  async #begin(reader: TranscriptReader): Promise<void> {
    const { model, post, begun } = this.#options;
    this.#edited = false;
    this.#shape = shapeOf(model.usage);
    this.#generation += 1;
    await reader.begin(this.#generation);
    if (reader !== this.#reader) return;
    const { sessionId, generation, total } = reader;
    post({ type: 'session', sessionId, title: model.usage?.title ?? '', generation, total, reveal: this.#reveal });
    this.#reveal = null;
    post({ type: 'history', edits: reader.edits.map(toEditLine) });
    begun();
  }
}
