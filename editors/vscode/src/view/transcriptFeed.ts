/**
 * Keeps the page's transcript up to date. Appended messages are sent alone. After an edit or its undo the transcript
 * is read again, as a new generation. One round runs at a time, and changes in the meantime cause one more round.
 */
import { ContextHistory, ContextMessages, type EditInfo, type Entry, type Message } from '../protocol.gen';
import type { SessionModel, UsageState } from '../session';
import { findReplacements, inForce, replacesContents, toEditLine, toItem, type Replacements } from './entries';
import type { HostMessage, HostMessageOf, Item } from './messages';
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

const NONE: Replacements = new Map();

export class TranscriptReader {
  readonly sessionId: string;
  readonly #model: Pick<SessionModel, 'request'>;
  #generation = 0;
  #total = 0;
  #edits: readonly EditInfo[] = [];
  #context: ReadonlyMap<string, Message> | undefined;

  constructor(model: Pick<SessionModel, 'request'>, sessionId: string) {
    this.#model = model;
    this.sessionId = sessionId;
  }

  get generation(): number {
    return this.#generation;
  }

  get total(): number {
    return this.#total;
  }

  get edits(): readonly EditInfo[] {
    return this.#edits;
  }

  /** Begins a new reading with its own number. */
  async begin(generation: number): Promise<void> {
    const { sessionId } = this;
    const [{ edits }, { total }] = await Promise.all([
      this.#model.request(ContextHistory, { sessionId }),
      this.#model.request(ContextMessages, { sessionId, scope: 'transcript', limit: 1 }),
    ]);
    this.#edits = edits;
    this.#total = total;
    this.#generation = generation;
    this.#context = undefined;
  }

  /** Whether the edits in force differ from those at the beginning of this reading. */
  async edited(): Promise<boolean> {
    const { edits } = await this.#model.request(ContextHistory, { sessionId: this.sessionId });
    return inForce(edits) !== inForce(this.#edits);
  }

  async page(offset: number, limit: number): Promise<HostMessageOf<'entries'>> {
    const generation = this.#generation;
    const { entries, total } = await this.#read(offset, limit);
    return { type: 'entries', generation, offset, total, items: await this.#items(entries) };
  }

  /** Reads what was appended since. Returns undefined if the transcript is shorter than before, so that it must be read again. */
  async appended(limit: number): Promise<HostMessageOf<'entries'> | undefined> {
    const page = await this.page(this.#total, limit);
    if (page.total < this.#total) return undefined;
    this.#total += page.items.length;
    return page;
  }

  /** Returns one whole message, or undefined if another one is at that position by now. */
  async message(offset: number, id: string): Promise<Message | undefined> {
    const { entries } = await this.#read(offset, 1);
    return entries.map((entry) => entry.message).find((message) => message.id === id);
  }

  #read(offset: number, limit: number) {
    return this.#model.request(ContextMessages, { sessionId: this.sessionId, scope: 'transcript', offset, limit });
  }

  async #items(entries: readonly Entry[]): Promise<Item[]> {
    const replacements = replacesContents(this.#edits) ? findReplacements(entries, await this.#shown()) : NONE;
    return entries.map((entry) => toItem(entry, this.#edits, replacements));
  }

  /** Reads the context's messages, which fit the model's window. Requested only if an edit replaced contents. */
  async #shown(): Promise<ReadonlyMap<string, Message>> {
    if (!this.#context) {
      const { entries } = await this.#model.request(ContextMessages, { sessionId: this.sessionId });
      this.#context = new Map(entries.map(({ message }) => [message.id, message]));
    }
    return this.#context;
  }
}
