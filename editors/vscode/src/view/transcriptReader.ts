/**
 * Reads a session's transcript for the page, page by page, and finds out what changed in it. Appended messages are read
 * from where the last reading ended. An edit or its undo moves entries, so a new reading, a *generation*, begins.
 */
import { ContextHistory, ContextMessages, type EditInfo, type Entry, type Message } from '../protocol.gen';
import type { SessionModel } from '../session';
import { findReplacements, inForce, type Replacements, replacesContents, toItem } from './entries';
import type { HostMessageOf, Item } from './messages';

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
