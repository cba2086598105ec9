/**
 * The loaded part of a transcript: its end, from `start` on, and the rows that show it. The rest is loaded page by page
 * from the end backwards. Every change returns the first row that changed, so that an appended message touches one row
 * however long the transcript is.
 */
import { maxima } from '../../protocol.gen';
import type { Item } from '../messages';
import { appendRows, buildRows, groupKeyOf, idsOf, type Row } from './rows';

/** Messages loaded first: more than a screen, and fast. */
export const FIRST_PAGE = 200;
/** Messages of each further page: as many as the server gives, because every page costs a request. */
export const NEXT_PAGE = maxima.MessagesParams.limit;

export interface Range {
  readonly offset: number;
  readonly limit: number;
}

export class Transcript {
  readonly generation: number;
  readonly opened: Set<string>;
  #items: Item[] = [];
  #rows: Row[] = [];
  #start: number;
  #total: number;

  constructor(generation: number, total: number, opened: Iterable<string> = []) {
    this.generation = generation;
    this.opened = new Set(opened);
    this.#start = total;
    this.#total = total;
    this.#rows = buildRows([], total, this.opened);
  }

  get rows(): readonly Row[] {
    return this.#rows;
  }

  get items(): readonly Item[] {
    return this.#items;
  }

  get total(): number {
    return this.#total;
  }

  get loaded(): boolean {
    return this.#start === 0;
  }

  /** Returns the next page backwards, or undefined when all is loaded. */
  nextPage(): Range | undefined {
    const limit = Math.min(this.#items.length === 0 ? FIRST_PAGE : NEXT_PAGE, this.#start);
    return limit === 0 ? undefined : { offset: this.#start - limit, limit };
  }

  /** Adds entries. Returns the first row that changed, or undefined if the entries do not join the loaded ones. */
  add(offset: number, items: readonly Item[], total: number): number | undefined {
    this.#total = Math.max(total, this.#total);
    const end = this.#start + this.#items.length;
    if (offset + items.length === this.#start) return this.#prepend(offset, items);
    if (offset <= end && offset >= this.#start) return this.#append(items.slice(end - offset));
    return undefined;
  }

  /** Returns the position of an entry in the whole transcript. */
  offsetOf(id: string): number | undefined {
    const place = this.#items.findIndex((item) => item.id === id);
    return place < 0 ? undefined : this.#start + place;
  }

  /** Returns the id of the message that users name by this number, or undefined if it is not loaded. */
  idOf(number: number): string | undefined {
    return this.#items.find(({ index, marker }) => index === number - 1 && marker === null)?.id;
  }

  has(id: string): boolean {
    // The requested message is nearly always a recent one.
    return this.#items.findLast((item) => item.id === id) !== undefined;
  }

  /** Opens or closes a group of archived messages. */
  toggle(key: string): void {
    if (!this.opened.delete(key)) this.opened.add(key);
    this.#rebuild();
  }

  /** Opens the group that hides a message. Returns the row that shows it, or -1 if it is not loaded. */
  reveal(id: string): number {
    const place = this.#items.findIndex((item) => item.id === id);
    const group = groupKeyOf(this.#items, place);
    if (group !== undefined && !this.opened.has(group)) this.toggle(group);
    return this.find(id);
  }

  /** Returns the row that shows a message, or -1 if no row does. */
  find(id: string): number {
    return this.#rows.findIndex((row) => idsOf(row).includes(id));
  }

  /** Sets which messages are pinned. Returns whether anything changed. */
  pin(ids: ReadonlySet<string>): boolean {
    const changed = this.#items.some((item) => item.pinned !== ids.has(item.id));
    if (!changed) return false;
    this.#items = this.#items.map((item) => (item.pinned === ids.has(item.id) ? item : { ...item, pinned: ids.has(item.id) }));
    this.#rebuild();
    return true;
  }

  #prepend(offset: number, items: readonly Item[]): number {
    this.#start = offset;
    this.#items = [...items, ...this.#items];
    this.#rebuild();
    return 0;
  }

  #append(added: readonly Item[]): number {
    for (const item of added) this.#items.push(item);
    const appended = appendRows(this.#rows, added);
    if (!appended) {
      this.#rebuild();
      return 0;
    }
    this.#rows.length = appended.from;
    for (const row of appended.rows) this.#rows.push(row);
    return appended.from;
  }

  #rebuild(): void {
    this.#rows = buildRows(this.#items, this.#start, this.opened);
  }
}
