/**
 * The conversation: the transcript in its list, the open rows, and the keyboard. It requests what it lacks (earlier pages,
 * whole contents) and gets the answers.
 */
import * as l10n from '@vscode/l10n';

import {
  type Guarded,
  type HostMessageOf,
  list,
  number,
  object,
  optional,
  type PageMessage,
  type PageMessageOf,
  type Part,
  string,
  type Usage,
} from '../messages';
import { h } from './dom';
import { type Anchor, RowList } from './list';
import { asksFor, type Details, drawRow, LostLists, type RowActions } from './rowView';
import { EARLIER, idsOf, type MessageRow, type Row, Transcript } from './transcript';

export const isKept = object({
  sessionId: string,
  place: object({
    /** Opened groups of archived messages. */
    opened: list(string),
    /** Opened messages and markers. */
    expanded: list(string),
    /** The row at the view's top; undefined if the view is at the end. */
    anchor: optional(object({ key: string, offset: number })),
  }),
});

export type Kept = Guarded<typeof isKept>;
export type Place = Kept['place'];

export type KeyAct =
  | { readonly act: 'move'; readonly by: number }
  | { readonly act: 'first' | 'last' | 'toggle' | 'open' | 'close' | 'pin' | 'search' | 'undo' };

export interface Key {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
}

/** Returns the act of a key on a row, or undefined if the list does not use the key. `page` is the number of rows of a page. */
export function keyAct(key: Key, page: number): KeyAct | undefined {
  if (key.ctrlKey || key.metaKey || key.altKey) return undefined;
  switch (key.key) {
    case 'ArrowDown':
      return { act: 'move', by: 1 };
    case 'ArrowUp':
      return { act: 'move', by: -1 };
    case 'PageDown':
      return { act: 'move', by: page };
    case 'PageUp':
      return { act: 'move', by: -page };
    case 'Home':
      return { act: 'first' };
    case 'End':
      return { act: 'last' };
    case 'Enter':
    case ' ':
      return { act: 'toggle' };
    case 'ArrowRight':
      return { act: 'open' };
    case 'ArrowLeft':
      return { act: 'close' };
    case 'p':
      return { act: 'pin' };
    case 'u':
      return { act: 'undo' };
    case '/':
      return { act: 'search' };
    default:
      return undefined;
  }
}

export class Reading {
  readonly #send: (message: PageMessageOf<'load'>) => void;
  #transcript = new Transcript(0, 0);
  /** A transcript that is being read again. */
  #coming: Transcript | undefined;
  #asked: number | undefined;
  #unread: string | undefined;

  constructor(send: (message: PageMessageOf<'load'>) => void) {
    this.#send = send;
  }

  /** The transcript that is shown. */
  get transcript(): Transcript {
    return this.#transcript;
  }

  /** Why the last page could not be read. Nothing more is requested until `retry`. */
  get unread(): string | undefined {
    return this.#unread;
  }

  /** Begins to read another session's transcript. */
  open(transcript: Transcript): void {
    this.#transcript = transcript;
    this.#restart(undefined);
  }

  /** Begins to read the same session's transcript again. An empty one is shown at once. */
  reopen(generation: number, total: number): void {
    this.#restart(new Transcript(generation, total, this.#transcript.opened));
    if (total === 0) this.#swap();
  }

  /** Takes a page, and asks for the next one. Returns the first row that changed, or undefined if none did. */
  take({ generation, offset, total, items }: HostMessageOf<'entries'>): number | undefined {
    const read = this.#coming ?? this.#transcript;
    if (generation !== read.generation) return undefined;
    if (offset === this.#asked) this.#asked = undefined;
    this.#unread = undefined;
    const from = read.add(offset, items, total);
    const swapped = this.#swap();
    this.#askNext();
    return swapped ? 0 : from;
  }

  /** Takes the failure of a page. Returns whether it is one that was asked for. */
  fail({ generation, offset, error }: HostMessageOf<'unread'>): boolean {
    if (generation !== (this.#coming ?? this.#transcript).generation || offset !== this.#asked) return false;
    this.#unread = error;
    return true;
  }

  retry(): void {
    this.#unread = undefined;
    this.#asked = undefined;
    this.#askNext();
  }

  #restart(coming: Transcript | undefined): void {
    this.#coming = coming;
    this.retry();
  }

  /** Shows the transcript that was being read again. Returns false if there is none. */
  #swap(): boolean {
    if (!this.#coming) return false;
    this.#transcript = this.#coming;
    this.#coming = undefined;
    return true;
  }

  #askNext(): void {
    const transcript = this.#coming ?? this.#transcript;
    const range = transcript.nextPage();
    if (!range || this.#asked === range.offset || this.#unread !== undefined) return;
    this.#asked = range.offset;
    this.#send({ type: 'load', generation: transcript.generation, ...range });
  }
}

export interface ConversationHost {
  send(message: PageMessage): void;
  announce(words: string): void;
  search(): void;
  /** Called when the open rows or the rows in view changed, so that they can be kept. */
  changed(): void;
}

export class Conversation {
  readonly element: HTMLElement;
  readonly #host: ConversationHost;
  readonly #list: RowList<Row>;
  readonly #expanded = new Set<string>();
  readonly #details: WholeContents;
  readonly #lost: LostLists;
  readonly #reading: Reading;
  #rows: readonly Row[] = [];
  #usage: Usage | undefined;
  #asking: string | undefined;
  #target: { readonly id: string; readonly focus: boolean } | undefined;
  #returnTo: Anchor | undefined;

  constructor(host: ConversationHost) {
    this.#host = host;
    this.#reading = new Reading((message) => host.send(message));
    this.#details = new WholeContents((message) => host.send(message));
    this.#lost = new LostLists((message) => host.send(message));
    const content = h('div.rows', { role: 'tree', 'aria-label': l10n.t('Conversation') });
    this.element = h('div.conversation', {}, content);
    this.#list = new RowList<Row>(this.element, content, {
      draw: (row) => this.#draw(row),
      isHead: ({ kind }) => kind === 'earlier',
      drawn: () => this.#host.changed(),
    });
    content.addEventListener('keydown', (event) => this.#keydown(event));
    content.addEventListener('focusin', (event) => this.#focused(event));
  }

  get transcript(): Transcript {
    return this.#reading.transcript;
  }

  get place(): Place {
    return { opened: [...this.transcript.opened], expanded: [...this.#expanded], anchor: this.#list.sticks ? undefined : this.#list.anchor };
  }

  /** Opens another session's transcript, at the place where it was left if that is known. */
  open(generation: number, total: number, place: Place | undefined): void {
    this.#expanded.clear();
    this.#details.clear();
    this.#lost.clear();
    for (const key of place?.expanded ?? []) this.#expanded.add(key);
    this.#returnTo = place?.anchor;
    this.#reading.open(new Transcript(generation, total, place?.opened));
    this.#show(0);
    this.#list.scrollToEnd();
  }

  /** Reads the same session's transcript again. The old one stays in view until the end of the new one was read. */
  reopen(generation: number, total: number, reveal: string | null): void {
    this.#details.clear();
    this.#asking = undefined;
    if (reveal !== null && this.#list.sticks) {
      this.#expanded.add(reveal);
      this.#target = { id: reveal, focus: false };
    }
    this.#reading.reopen(generation, total);
    if (total === 0) this.#show(0);
  }

  addEntries(message: HostMessageOf<'entries'>): void {
    const from = this.#reading.take(message);
    if (from === undefined) return;
    this.#show(from);
    this.#pursue();
  }

  /** Shows that a page could not be read. */
  showUnread(message: HostMessageOf<'unread'>): void {
    if (this.#reading.fail(message)) this.#list.redraw(EARLIER);
  }

  addDetail({ id, parts }: HostMessageOf<'detail'>): void {
    this.#details.add(id, parts);
    const row = this.transcript.rows[this.transcript.find(id)];
    if (row) this.#list.redraw(row.key);
  }

  addLost({ lost }: HostMessageOf<'lost'>): void {
    this.#lost.add(lost);
    const row = this.#rows.find((each) => each.kind === 'marker' && each.marker.editId === lost.editId);
    if (row) this.#list.redraw(row.key);
  }

  setUsage(usage: Usage): void {
    const asked = asksFor({ usage: this.#usage });
    this.#usage = usage;
    if (asksFor({ usage }) !== asked) for (const row of this.#rows) if (row.kind === 'marker') this.#list.redraw(row.key);
  }

  setPinned(ids: readonly string[]): void {
    if (this.transcript.pin(new Set(ids))) this.#show(0);
  }

  /** Brings a message into view, and opens what hides it, as soon as the message is loaded. */
  reveal(id: string, focus = true): void {
    this.#target = { id, focus };
    this.#pursue();
  }

  /** Draws the rows again, because texts can be drawn as Markdown now. */
  redraw(): void {
    this.#list.redrawAll();
  }

  focus(): void {
    this.#list.activate(this.#list.activeRow(), true);
  }

  /** Shows the rows. Those from `from` on have changed. */
  #show(from: number): void {
    this.#rows = this.transcript.rows;
    this.#list.show(this.#rows, from);
  }

  #pursue(): void {
    if (this.#returnTo && this.#list.restore(this.#returnTo)) this.#returnTo = undefined;
    const target = this.#target;
    if (!target) return;
    const before = this.transcript.rows;
    const row = this.transcript.reveal(target.id);
    if (before !== this.transcript.rows) this.#show(0);
    if (row >= 0) {
      this.#target = undefined;
      this.#list.activate(row, target.focus);
      this.#needDetails(this.transcript.rows[row]);
    } else if (this.transcript.loaded) {
      this.#target = undefined;
      this.#host.announce(l10n.t('That message is no longer there.'));
    }
  }

  #draw(row: Row): HTMLElement {
    this.#needDetails(row);
    return drawRow(row, {
      actions: this.#actions,
      usage: this.#usage,
      now: Date.now(),
      expanded: this.#expanded,
      details: this.#details.parts,
      lost: this.#lost.lists,
      asking: this.#asking,
      unread: this.#reading.unread,
    });
  }

  /** Requests what an open row lacks: whole messages, or what a compaction left out. */
  #needDetails(row: Row | undefined): void {
    if (!row || !this.#expanded.has(row.key)) return;
    if (row.kind === 'message') this.#details.need(row, this.transcript);
    else if (row.kind === 'marker' && row.marker.editId !== null && asksFor({ usage: this.#usage })) this.#lost.need(row.marker.editId);
  }

  readonly #actions: RowActions = {
    toggle: (row) => this.#toggle(row),
    pin: (row) => this.#pin(row),
    askUndo: (key) => this.#askUndo(key),
    keepCompacted: (key) => {
      this.#asking = undefined;
      this.#list.redraw(key);
    },
    undo: (editId) => this.#host.send({ type: 'undo', editId }),
    showNumber: (number) => this.#showNumber(number),
    copy: (text) => this.#host.send({ type: 'copy', text }),
    giveBack: (editId) => this.#host.send({ type: 'giveBack', editId }),
    retry: () => {
      this.#reading.retry();
      this.#list.redraw(EARLIER);
    },
    keepOpen: (key, open) => {
      if (open) this.#expanded.add(key);
      else this.#expanded.delete(key);
    },
  };

  #toggle(row: Row): void {
    if (row.kind === 'earlier') return;
    if (row.kind === 'group') {
      this.transcript.toggle(row.key);
      this.#show(0);
    } else {
      if (!this.#expanded.delete(row.key)) this.#expanded.add(row.key);
      else if (row.kind === 'marker' && row.marker.editId !== null) this.#lost.forget(row.marker.editId);
      this.#list.redraw(row.key);
    }
    this.#host.changed();
  }

  #showNumber(number: number): void {
    const id = this.transcript.idOf(number);
    if (id !== undefined) this.reveal(id);
    else this.#host.announce(l10n.t('Message #{0} is not loaded.', number));
  }

  #pin(row: MessageRow): void {
    this.#host.send({ type: 'pin', id: row.item.id, pinned: !row.pinned });
  }

  #askUndo(key: string): void {
    this.#asking = key;
    this.#expanded.add(key);
    this.#list.redraw(key);
    this.#list.element(key)?.querySelector<HTMLElement>('.confirm-undo')?.focus();
  }

  #focused(event: FocusEvent): void {
    const key = (event.target as HTMLElement).closest<HTMLElement>('.row')?.dataset['key'];
    if (key !== undefined) this.#list.setActive(key);
  }

  #keydown(event: KeyboardEvent): void {
    const onRow = (event.target as HTMLElement).classList.contains('row');
    if (!onRow) {
      if (event.key === 'Escape') this.focus();
      return;
    }
    const act = keyAct(event, this.#list.pageRows);
    const place = this.#list.activeRow();
    const row = this.#rows[place];
    if (!act || !row) return;
    event.preventDefault();
    switch (act.act) {
      case 'move':
        this.#list.activate(place + act.by, true);
        return;
      case 'first':
        this.#list.activate(0, true);
        return;
      case 'last':
        this.#list.activate(this.#rows.length - 1, true);
        return;
      case 'search':
        this.#host.search();
        return;
      default:
        this.#actOn(row, act.act);
        return;
    }
  }

  #actOn(row: Row, act: 'toggle' | 'open' | 'close' | 'pin' | 'undo'): void {
    const open = row.kind === 'group' ? row.open : this.#expanded.has(row.key);
    if (act === 'toggle' || (act === 'open' && !open) || (act === 'close' && open)) this.#toggle(row);
    else if (act === 'pin' && row.kind === 'message' && !row.item.archived) this.#pin(row);
    else if (act === 'undo' && row.kind === 'marker' && row.marker.editId !== null) this.#askUndo(row.key);
  }
}

export class WholeContents {
  readonly #send: (message: PageMessageOf<'detail'>) => void;
  readonly #parts = new Map<string, readonly Part[]>();

  constructor(send: (message: PageMessageOf<'detail'>) => void) {
    this.#send = send;
  }

  /** The contents that have come, by message id. */
  get parts(): Details {
    return this.#parts;
  }

  add(id: string, parts: readonly Part[]): void {
    this.#parts.set(id, parts);
  }

  clear(): void {
    this.#parts.clear();
  }

  /** Requests the contents that a row lacks. */
  need(row: Row, transcript: Transcript): void {
    for (const id of idsOf(row)) {
      const offset = this.#parts.has(id) ? undefined : transcript.offsetOf(id);
      if (offset !== undefined) this.#send({ type: 'detail', generation: transcript.generation, offset, id });
    }
  }
}
