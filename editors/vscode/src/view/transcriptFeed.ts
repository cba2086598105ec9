/**
 * Keeps the page's transcript up to date. Appended messages are sent alone. After an edit or its undo the transcript
 * is read again, as a new generation. One round runs at a time, and changes in the meantime cause one more round.
 */
import * as l10n from '@vscode/l10n';

import {
  type ArtifactLedger,
  type Block,
  type CompactionBlock,
  ContextHistory,
  ContextMessages,
  type EditInfo,
  type Entry,
  type Message,
} from '../protocol.gen';
import type { SessionModel, UsageState } from '../sessions';
import type { EditLine, HostMessage, HostMessageOf, Item, Ledger, Marker, Part } from './messages';
import { grew, shapeOf } from './viewHost';

/** Characters of a text in a closed row: more than its three lines hold. */
const PREVIEW = 600;
/** Characters of a text in an open row. The page would be slow with more. */
const WHOLE = 100_000;
/** Characters of a tool call's argument in a closed row. */
const ARGUMENT = 200;
/** The fields that describe a tool call best, best first. */
const TELLING = ['command', 'cmd', 'file_path', 'path', 'filePath', 'notebook_path', 'pattern', 'query', 'url', 'description', 'prompt'];
const REPLACING = new Set(['clear_tool_uses', 'clear_thinking', 'duplicate_reads', 'shorten']);

/** The contents that replace messages' own contents in the context, by message id. */
export type Replacements = ReadonlyMap<string, string>;

export function toItem(entry: Entry, edits: readonly EditInfo[], replacements: Replacements): Item {
  const { message } = entry;
  const marker = message.content.find((block): block is CompactionBlock => block.type === 'context_compaction');
  return {
    id: message.id,
    index: entry.index,
    role: entry.byAgent ? 'agent' : message.role,
    tokens: entry.tokens,
    archived: entry.archived,
    pinned: entry.pinned,
    replaced: entry.archived ? null : (replacements.get(message.id) ?? null),
    parts: marker ? [] : drawn(message).map((block) => toPart(block, PREVIEW)),
    marker: marker ? toMarker(message.id, marker, edits) : null,
  };
}

/** Returns a message's whole contents. */
export function wholeParts(message: Message): Part[] {
  return drawn(message).map((block) => toPart(block, WHOLE));
}

/** Returns the blocks that show something. Some models put a blank text before their thinking. */
function drawn({ content }: Message): readonly Block[] {
  return content.filter((block) => block.type !== 'text' || block.text.trim() !== '');
}

export function toEditLine(edit: EditInfo): EditLine {
  const { id, kind, timestamp, trigger, tokensSaved } = edit;
  return { id, kind, timestamp, trigger, tokensSaved, reverted: edit.reverted ?? false, partOf: edit.partOf ?? null };
}

/** Returns the ids of the edits in force as one string, to compare two readings. */
export function inForce(edits: readonly EditInfo[]): string {
  return edits.flatMap((edit) => (edit.reverted ? [] : [edit.id])).join(' ');
}

/** Whether contents in the context may differ from those in the transcript. */
export function replacesContents(edits: readonly EditInfo[]): boolean {
  return edits.some((edit) => !edit.reverted && REPLACING.has(edit.kind));
}

/** Returns the contents of the messages that differ between context and transcript, by message id. */
export function findReplacements(transcript: readonly Entry[], context: ReadonlyMap<string, Message>): Map<string, string> {
  const found = new Map<string, string>();
  for (const { message } of transcript) {
    const shown = context.get(message.id);
    const changed = shown?.content.find((block, i) => JSON.stringify(block) !== JSON.stringify(message.content[i]));
    if (changed) found.set(message.id, blockText(changed).slice(0, PREVIEW));
  }
  return found;
}

function toMarker(messageId: string, block: CompactionBlock, edits: readonly EditInfo[]): Marker {
  const edit = edits.find((each) => each.kind === 'compaction' && messageId === `${each.id}-marker`);
  return {
    editId: edit?.id ?? null,
    number: block.compaction_number,
    timestamp: block.timestamp,
    trigger: edit?.trigger ?? '',
    summary: block.summary,
    summarizer: block.summarizer ?? 'offline',
    messagesArchived: block.messages_archived,
    before: block.context_size_before,
    after: block.context_size_after ?? 0,
    ledger: toLedger(block.ledger ?? {}),
  };
}

function toLedger({ files = [], commands = [], identifiers = [] }: ArtifactLedger): Ledger {
  return {
    files: files.map(({ path, action, times = 1 }) => ({ path, action, times })),
    commands: commands.map(({ command, outcome, detail = '', times = 1 }) => ({ command, outcome, detail, times })),
    identifiers: identifiers.map(({ name, context = '', times = 1 }) => ({ name, context, times })),
  };
}

function toPart(block: Block, limit: number): Part {
  switch (block.type) {
    case 'thinking':
      return { kind: 'thinking', ...clip(block.thinking || l10n.t('Encrypted by the provider.'), limit) };
    case 'tool_use':
      return { kind: 'tool_use', id: block.id, name: block.name, argument: limit === WHOLE ? pretty(block.input) : argument(block.input) };
    case 'tool_result':
      return { kind: 'tool_result', id: block.tool_use_id, failed: block.is_error ?? false, ...clip(blockText(block), limit) };
    case 'image':
      return { kind: 'image', label: imageLabel(block) };
    case 'resource':
      return { kind: 'resource', label: block.uri, ...clip(block.text ?? '', limit) };
    default:
      return { kind: 'text', ...clip(blockText(block), limit) };
  }
}

/** Shortens a long text to its beginning and, because failures are reported at the end, its end. */
function clip(text: string, limit: number): { text: string; more: boolean } {
  if (text.length <= limit) return { text, more: false };
  return { text: limit === WHOLE ? text.slice(0, limit) : `${text.slice(0, limit / 2)}\n${text.slice(-limit / 2)}`, more: true };
}

function argument(input: Readonly<Record<string, unknown>>): string {
  const telling = TELLING.map((name) => spoken(input[name])).find((value) => value !== '');
  const value = telling ?? Object.values(input).map(spoken).find((each) => each !== '');
  return (value ?? pretty(input)).replace(/\s+/g, ' ').slice(0, ARGUMENT);
}

/** Returns a text, or the command of a list like `bash -lc COMMAND`, or an empty string. */
function spoken(value: unknown): string {
  if (typeof value === 'string') return value;
  const words = Array.isArray(value) ? value.filter((word): word is string => typeof word === 'string') : [];
  return words.length === 3 && /^-\w*c$/.test(words[1] ?? '') ? (words[2] ?? '') : words.join(' ');
}

function pretty(input: Readonly<Record<string, unknown>>): string {
  return Object.keys(input).length === 0 ? '' : JSON.stringify(input, undefined, 2).slice(0, WHOLE);
}

function imageLabel({ width, height }: { readonly width?: number; readonly height?: number }): string {
  return width !== undefined && height !== undefined ? l10n.t('Picture, {0} × {1}', width, height) : l10n.t('Picture');
}

function blockText(block: Block): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'thinking':
      return block.thinking;
    case 'tool_use':
      return argument(block.input);
    case 'tool_result':
      return (block.content ?? []).map(blockText).join('\n');
    case 'image':
      return imageLabel(block);
    case 'resource':
      return block.text ?? block.uri;
    case 'context_compaction':
      return block.summary;
  }
}

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
  readonly begun: (sessionId: string) => void;
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
    begun(sessionId);
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
