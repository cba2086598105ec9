/**
 * The loaded part of a transcript, its end, and the rows that show it. The rest is loaded page by page from the end
 * backwards. A tool's results join the row of the call they answer; neighbouring archived messages become one row that opens in
 * place. Every change returns the first row that changed, so that an appended message touches one row however long the
 * transcript is. Pure.
 */
import { maxima } from '../../protocol.gen';
import type { Item, Marker } from '../messages';

export interface EarlierRow {
  readonly kind: 'earlier';
  readonly key: string;
  readonly count: number;
}

export interface GroupRow {
  readonly kind: 'group';
  readonly key: string;
  readonly count: number;
  readonly open: boolean;
}

export interface MessageRow {
  readonly kind: 'message';
  readonly key: string;
  readonly item: Item;
  /** The messages that answer this message's tool calls. */
  readonly results: readonly Item[];
  /** Whether the row is inside an opened group. */
  readonly inGroup: boolean;
  /** Tokens of all its messages. With `itemized` of the first alone, and each result has its own figure. */
  readonly tokens: number;
  readonly itemized: boolean;
  /** Whether the row has only tool calls, so that no speaker is shown. */
  readonly toolsOnly: boolean;
  readonly pinned: boolean;
}

export interface MarkerRow {
  readonly kind: 'marker';
  readonly key: string;
  readonly item: Item;
  readonly marker: Marker;
}

export type Row = EarlierRow | GroupRow | MessageRow | MarkerRow;

/** The keys of open rows. */
export type Opened = ReadonlySet<string>;

export const EARLIER = 'earlier';

/** Returns the rows of a transcript's loaded end. `missing` entries are not loaded. */
export function buildRows(items: readonly Item[], missing: number, opened: Opened): Row[] {
  const rows: Row[] = missing > 0 ? [{ kind: 'earlier', key: EARLIER, count: missing }] : [];
  for (const run of runs(items)) {
    if (!isArchived(run[0])) rows.push(...messageRows(run, false));
    else rows.push(...groupRows(run, opened));
  }
  return rows;
}

/** How appended messages change the rows: the last row is replaced by the given ones. */
export interface Appended {
  readonly from: number;
  readonly rows: readonly Row[];
}

/** Returns the rows that replace those from `from` on, or undefined if an archived entry requires building all rows again. */
export function appendRows(rows: readonly Row[], added: readonly Item[]): Appended | undefined {
  if (added.some(isArchived)) return undefined;
  const last = rows[rows.length - 1];
  if (last?.kind !== 'message' || last.inGroup) return { from: rows.length, rows: messageRows(added, false) };
  return { from: rows.length - 1, rows: messageRows([last.item, ...last.results, ...added], false) };
}

/** Returns the ids of a row's messages. */
export function idsOf(row: Row): readonly string[] {
  if (row.kind === 'message') return [row.item.id, ...row.results.map((result) => result.id)];
  return row.kind === 'marker' ? [row.item.id] : [];
}

/** Returns the key of the group of an archived message. Opening the group shows the message. */
export function groupKeyOf(items: readonly Item[], place: number): string | undefined {
  if (!isArchived(items[place])) return undefined;
  let first = place;
  while (first > 0 && isArchived(items[first - 1])) first -= 1;
  return groupKey(items[first]);
}

function isArchived(item: Item | undefined): boolean {
  return item !== undefined && item.archived && item.marker === null;
}

/** Splits items into runs of archived and of active messages. */
function runs(items: readonly Item[]): Item[][] {
  const found: Item[][] = [];
  for (const item of items) {
    const last = found[found.length - 1];
    if (last && isArchived(last[0]) === isArchived(item)) last.push(item);
    else found.push([item]);
  }
  return found;
}

function groupRows(run: readonly Item[], opened: Opened): Row[] {
  const key = groupKey(run[0]);
  const open = opened.has(key);
  const head: GroupRow = { kind: 'group', key, count: run.length, open };
  return open ? [head, ...messageRows(run, true)] : [head];
}

function groupKey(first: Item | undefined): string {
  return `group ${first?.id ?? ''}`;
}

function messageRows(run: readonly Item[], inGroup: boolean): Row[] {
  const rows: Row[] = [];
  for (const item of run) {
    const last = rows[rows.length - 1];
    if (item.marker) rows.push({ kind: 'marker', key: item.id, item, marker: item.marker });
    else if (last?.kind === 'message' && answers(last, item)) rows[rows.length - 1] = messageRow(last.item, [...last.results, item], inGroup);
    else rows.push(messageRow(item, [], inGroup));
  }
  return rows;
}

function messageRow(item: Item, results: readonly Item[], inGroup: boolean): MessageRow {
  const all = [item, ...results];
  const itemized = item.parts.length > 1 && results.every((result) => result.parts.length === 1);
  return {
    kind: 'message',
    key: item.id,
    item,
    results,
    inGroup,
    tokens: itemized ? item.tokens : all.reduce((sum, each) => sum + each.tokens, 0),
    itemized,
    toolsOnly: item.parts.length > 0 && item.parts.every((part) => part.kind === 'tool_use' || part.kind === 'tool_result'),
    pinned: all.some((each) => each.pinned),
  };
}

/** Whether a message has only results of the row's tool calls. */
function answers(row: MessageRow, item: Item): boolean {
  const calls = new Set(row.item.parts.flatMap((part) => (part.kind === 'tool_use' ? [part.id] : [])));
  return item.parts.length > 0 && item.parts.every((part) => part.kind === 'tool_result' && calls.has(part.id));
}

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
