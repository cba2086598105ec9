/**
 * Makes the rows that show a transcript. Pure.
 *
 * A tool's results join the row of the call they answer. Neighbouring archived messages become one row that opens in
 * place. If only the end of a transcript is loaded, the part before is one row, too.
 */
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
