/**
 * The conversation: the transcript in its virtual list, the open rows, and the keyboard. It requests what it lacks
 * (earlier pages, whole contents) and gets the answers.
 */
import type { HostMessageOf, PageMessage, Part, Usage } from '../messages';
import { h } from './dom';
import type { Place } from './kept';
import { keyAct } from './keys';
import { Live } from './live';
import { VirtualList } from './list';
import { idsOf, type MessageRow, type Row } from './rows';
import type { Voice } from './parts';
import { drawRow, estimateRow, type RowActions } from './rowView';
import { Transcript } from './transcript';
import type { Anchor } from './window';

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
  readonly #list: VirtualList<Row>;
  readonly #expanded = new Set<string>();
  readonly #details = new Map<string, readonly Part[]>();
  readonly #live = new Live();
  #transcript = new Transcript(0, 0);
  /** The transcript's rows and, after them, those that are being written. */
  #rows: readonly Row[] = [];
  #frame = 0;
  /** A transcript that is being read again. It replaces the old one as soon as its end was read. */
  #coming: Transcript | undefined;
  #asked: number | undefined;
  #usage: Usage | undefined;
  #asking: string | undefined;
  #target: { readonly id: string; readonly focus: boolean } | undefined;
  #returnTo: Anchor | undefined;

  constructor(host: ConversationHost) {
    this.#host = host;
    const content = h('div.rows', { role: 'tree', 'aria-label': 'Conversation' });
    this.element = h('div.conversation', {}, content);
    this.#list = new VirtualList<Row>(this.element, content, {
      draw: (row) => this.#draw(row),
      estimate: estimateRow,
      drawn: () => this.#host.changed(),
    });
    content.addEventListener('keydown', (event) => this.#keydown(event));
    content.addEventListener('focusin', (event) => this.#focused(event));
  }

  get transcript(): Transcript {
    return this.#transcript;
  }

  get place(): Place {
    return { opened: [...this.#transcript.opened], expanded: [...this.#expanded], anchor: this.#list.sticks ? undefined : this.#list.anchor };
  }

  /** Opens another session's transcript, at the place where it was left if that is known. */
  open(generation: number, total: number, place: Place | undefined): void {
    this.#expanded.clear();
    this.#details.clear();
    for (const key of place?.expanded ?? []) this.#expanded.add(key);
    this.#returnTo = place?.anchor;
    this.#coming = undefined;
    this.#live.clear();
    this.#transcript = new Transcript(generation, total, place?.opened);
    this.#show(0);
    this.#list.scrollToEnd();
    this.#askNext();
  }

  /** Reads the same session's transcript again. The old one stays in view until the end of the new one was read. */
  reopen(generation: number, total: number, reveal: string | null): void {
    this.#coming = new Transcript(generation, total, this.#transcript.opened);
    this.#details.clear();
    this.#asking = undefined;
    if (reveal !== null && this.#list.sticks) {
      this.#expanded.add(reveal);
      this.#target = { id: reveal, focus: false };
    }
    if (total === 0) this.#swap();
    this.#askNext();
  }

  addEntries({ generation, offset, total, items }: HostMessageOf<'entries'>): void {
    const transcript = this.#coming ?? this.#transcript;
    if (generation !== transcript.generation) return;
    if (offset === this.#asked) this.#asked = undefined;
    const from = transcript.add(offset, items, total);
    if (from !== undefined) this.#live.join(items.map(({ id }) => id));
    if (this.#coming) this.#swap();
    else if (from !== undefined) this.#show(from);
    this.#askNext();
    this.#pursue();
  }

  addDetail({ id, parts }: HostMessageOf<'detail'>): void {
    this.#details.set(id, parts);
    const row = this.#transcript.rows[this.#transcript.find(id)];
    if (row) this.#list.redraw(row.key);
  }

  /** Replaces the state of the answer that is being written. */
  showLive(live: HostMessageOf<'live'>): void {
    this.#live.show(live, (id) => this.#transcript.has(id));
    this.#show(this.#transcript.rows.length);
  }

  /** Adds a piece of the answer. It is drawn with the next frame, together with all pieces until then. */
  say({ piece }: HostMessageOf<'said'>): void {
    if (!this.#live.say(piece, (id) => this.#transcript.has(id)) || this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#show(this.#transcript.rows.length);
    });
  }

  /** Updates a tool call. */
  call({ call }: HostMessageOf<'called'>): void {
    this.#live.call(call);
    const calls = (row: Row): boolean => row.kind === 'message' && row.item.parts.some((part) => part.kind === 'tool_use' && part.id === call.id);
    const row = this.#rows.findLast(calls);
    if (row) this.#list.redraw(row.key);
  }

  /** Moves to the end, because the user sent a prompt from here and wants to see the answer. */
  follow(): void {
    this.#list.scrollToEnd();
  }

  /** The text of the last answer, complete or still being written. */
  get answer(): string {
    return this.#live.answer;
  }

  setUsage(usage: Usage): void {
    this.#usage = usage;
  }

  setPinned(ids: readonly string[]): void {
    if (this.#transcript.pin(new Set(ids))) this.#show(0);
  }

  /** Brings a message into view, and opens what hides it, as soon as the message is loaded. */
  reveal(id: string, focus = true): void {
    this.#target = { id, focus };
    this.#pursue();
  }

  focus(): void {
    this.#list.activate(this.#list.activeRow(), true);
  }

  /** Shows the rows. Those from `from` on have changed. */
  #show(from: number): void {
    const live = this.#live.rows;
    this.#rows = live.length === 0 ? this.#transcript.rows : [...this.#transcript.rows, ...live];
    this.#list.show(this.#rows, from);
  }

  #swap(): void {
    if (!this.#coming) return;
    this.#transcript = this.#coming;
    this.#coming = undefined;
    this.#show(0);
  }

  #askNext(): void {
    const transcript = this.#coming ?? this.#transcript;
    const range = transcript.nextPage();
    if (!range || this.#asked === range.offset) return;
    this.#asked = range.offset;
    this.#host.send({ type: 'load', generation: transcript.generation, ...range });
  }

  #pursue(): void {
    if (this.#returnTo && this.#list.restore(this.#returnTo)) this.#returnTo = undefined;
    const target = this.#target;
    if (!target) return;
    const before = this.#transcript.rows;
    const row = this.#transcript.reveal(target.id);
    if (before !== this.#transcript.rows) this.#show(0);
    if (row >= 0) {
      this.#target = undefined;
      this.#list.activate(row, target.focus);
      this.#needDetails(this.#transcript.rows[row]);
    } else if (this.#transcript.loaded) {
      this.#target = undefined;
      this.#host.announce('That message is no longer there.');
    }
  }

  #draw(row: Row): HTMLElement {
    this.#needDetails(row);
    return drawRow(row, {
      actions: this.#actions,
      usage: this.#usage,
      now: Date.now(),
      expanded: this.#expanded,
      details: this.#details,
      voice: this.#voice,
      asking: this.#asking,
    });
  }

  /** Requests the whole messages of an open row. */
  #needDetails(row: Row | undefined): void {
    if (row?.kind !== 'message' || !this.#expanded.has(row.key)) return;
    for (const id of idsOf(row)) {
      const offset = this.#details.has(id) ? undefined : this.#transcript.offsetOf(id);
      if (offset !== undefined) this.#host.send({ type: 'detail', generation: this.#transcript.generation, offset, id });
    }
  }

  readonly #voice: Voice = {
    said: this.#live.said,
    calls: this.#live.calls,
    thinks: (id) => this.#expanded.has(`${id} thinking`),
    keepThinking: (id, open) => this.#actions.keepOpen(`${id} thinking`, open),
  };

  readonly #actions: RowActions = {
    toggle: (row) => this.#toggle(row),
    pin: (row) => this.#pin(row),
    askUndo: (key) => this.#askUndo(key),
    keepCompacted: (key) => {
      this.#asking = undefined;
      this.#list.redraw(key);
    },
    undo: (editId) => this.#host.send({ type: 'undo', editId }),
    copy: (text) => this.#host.send({ type: 'copy', text }),
    keepOpen: (key, open) => {
      if (open) this.#expanded.add(key);
      else this.#expanded.delete(key);
    },
  };

  #toggle(row: Row): void {
    if (row.kind === 'earlier' || (row.kind === 'message' && row.live)) return;
    if (row.kind === 'group') {
      this.#transcript.toggle(row.key);
      this.#show(0);
    } else {
      if (!this.#expanded.delete(row.key)) this.#expanded.add(row.key);
      this.#list.redraw(row.key);
    }
    this.#host.changed();
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
    else if (act === 'pin' && row.kind === 'message' && !row.item.archived && !row.live) this.#pin(row);
    else if (act === 'undo' && row.kind === 'marker' && row.marker.editId !== null) this.#askUndo(row.key);
  }
}

