/**
 * The messages between the Context view's page and the extension, checked on arrival on both sides.
 *
 * The page shows and asks; only the extension sends requests to the server. An `Item` is one entry of the transcript,
 * shortened to what a row shows; whole contents come one message at a time (`detail`). `generation` numbers the
 * readings of a transcript. An edit or its undo moves entries, so it begins a new generation, and messages of an older
 * one are dropped. Sizes are tokens, times Unix milliseconds.
 */

export type Guard<T> = (value: unknown) => value is T;
export type Guarded<G> = G extends Guard<infer T> ? T : never;
type Shape = Readonly<Record<string, Guard<unknown>>>;
type Shaped<S extends Shape> = { readonly [K in keyof S]: Guarded<S[K]> };

export const string: Guard<string> = (value): value is string => typeof value === 'string';
export const boolean: Guard<boolean> = (value): value is boolean => typeof value === 'boolean';
export const number: Guard<number> = (value): value is number => Number.isFinite(value);
/** A position or an amount: a whole number that is not negative. */
export const count: Guard<number> = (value): value is number => Number.isInteger(value) && (value as number) >= 0;

export function word<const W extends string>(...words: readonly W[]): Guard<W> {
  return (value): value is W => words.some((known) => known === value);
}

export function list<T>(item: Guard<T>): Guard<readonly T[]> {
  return (value): value is readonly T[] => Array.isArray(value) && value.every((each) => item(each));
}

export function record<T>(item: Guard<T>): Guard<Readonly<Record<string, T>>> {
  return (value): value is Readonly<Record<string, T>> => isObject(value) && Object.values(value).every((each) => item(each));
}

export function nullable<T>(inner: Guard<T>): Guard<T | null> {
  return (value): value is T | null => value === null || inner(value);
}

export function optional<T>(inner: Guard<T>): Guard<T | undefined> {
  return (value): value is T | undefined => value === undefined || inner(value);
}

/** An object with at least these fields. Other fields are ignored. */
export function object<const S extends Shape>(shape: S): Guard<Shaped<S>> {
  const fields = Object.entries(shape);
  return (value): value is Shaped<S> => isObject(value) && fields.every(([name, field]) => field(value[name]));
}

/** One of several objects, distinguished by the string in the field `tag`. */
export function tagged<const Tag extends string, const T extends Readonly<Record<string, Shape>>>(
  tag: Tag,
  table: T,
): Guard<{ [K in keyof T]: Readonly<Record<Tag, K>> & Shaped<T[K]> }[keyof T]> {
  const guards = new Map(Object.entries(table).map(([name, shape]) => [name, object(shape)]));
  const check = (value: unknown): boolean => isObject(value) && (guards.get(String(value[tag]))?.(value) ?? false);
  return check as Guard<never>;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const part = tagged('kind', {
  text: { text: string, more: boolean },
  thinking: { text: string, more: boolean },
  tool_use: { id: string, name: string, argument: string },
  tool_result: { id: string, failed: boolean, text: string, more: boolean },
  image: { label: string },
  resource: { label: string, text: string, more: boolean },
});

const ledger = object({
  files: list(object({ path: string, action: string, times: count })),
  commands: list(object({ command: string, outcome: string, detail: string, times: count })),
  identifiers: list(object({ name: string, context: string, times: count })),
});

const marker = object({
  editId: nullable(string),
  number: count,
  timestamp: number,
  trigger: string,
  summary: string,
  summarizer: string,
  messagesArchived: count,
  before: count,
  after: count,
  ledger,
});

const item = object({
  id: string,
  index: count,
  role: word('system', 'user', 'assistant', 'agent'),
  tokens: count,
  archived: boolean,
  pinned: boolean,
  /** The content in the context that replaces this message's own, if an edit replaced it. */
  replaced: nullable(string),
  parts: list(part),
  marker: nullable(marker),
});

const usage = object({
  used: count,
  size: nullable(count),
  usable: nullable(count),
  warnAt: nullable(count),
  compactAt: nullable(count),
  level: word('off', 'normal', 'warning', 'critical'),
  source: word('reported', 'stale', 'estimated'),
  breakdown: record(count),
  model: string,
  messagesActive: count,
  messagesArchived: count,
  reportedAt: nullable(number),
  /** The moment of the last message or report that the figure covers. */
  asOf: nullable(number),
  /** The agent whose conversation this is a copy of, or an empty string. */
  agent: string,
  managedBy: word('ullage', 'agent', 'nobody'),
  /** Whether the conversation continues elsewhere, so that nothing can be changed in it. */
  followed: boolean,
  /** How the window and the place of compaction are known, one line each. */
  basis: list(string),
  pendingMessages: count,
  errorShare: nullable(number),
});

const edit = object({
  id: string,
  kind: string,
  timestamp: number,
  trigger: string,
  tokensSaved: number,
  reverted: boolean,
  partOf: nullable(string),
});

/** What a button of the page does, by a command of the extension. */
const commandName = word('compact', 'preview', 'setWindow', 'setUp', 'restart', 'problem', 'log');

/** What a hook gave the agent back, and what that cost. */
const given = object({ at: number, why: string, tokens: count, text: string });

/** What a compaction left out. `error` says why it is not known, or is empty. `readable` is false if the summary is encrypted. */
const lost = object({
  editId: string,
  error: string,
  readable: boolean,
  /** How many were left out of each kind, whether listed or not. */
  counts: record(count),
  /** How many of these no hook has given back yet. */
  missing: record(count),
  entries: list(object({ kind: string, state: string, text: string, detail: string, index: count })),
  /** What is needed most of it, quoted, to be given back to the agent. */
  brief: string,
  /** The terminal in which the agent runs, or null if none is known. */
  terminal: nullable(string),
  /** What hooks gave back to the agent after this compaction, the oldest first. */
  given: list(given),
});

const hit = object({ messageId: string, index: count, role: string, snippet: string });

/** The messages of the page. */
export const isPageMessage = tagged('type', {
  ready: {},
  load: { generation: count, offset: count, limit: count },
  detail: { generation: count, offset: count, id: string },
  pin: { id: string, pinned: boolean },
  undo: { editId: string },
  cancel: {},
  /** Asks what a compaction left out. */
  lost: { editId: string },
  /** Puts what a compaction left out into the agent's terminal. */
  giveBack: { editId: string },
  search: { query: string },
  copy: { text: string },
  command: { name: commandName },
});

/** The messages of the extension. */
export const isHostMessage = tagged('type', {
  /** A transcript to show: a session was opened, or an edit changed it. `sessionId` is null without a session. */
  session: {
    sessionId: nullable(string),
    title: string,
    generation: count,
    total: count,
    /** The marker to bring into view, after a compaction. */
    reveal: nullable(string),
  },
  entries: { generation: count, offset: count, total: count, items: list(item) },
  /** A page of entries that could not be read, and why, for the user. */
  unread: { generation: count, offset: count, error: string },
  /** A message's whole contents. */
  detail: { id: string, parts: list(part) },
  lost: { lost },
  usage: { usage },
  history: { edits: list(edit) },
  pinned: { ids: list(string) },
  /** A compaction has begun. `summary` is the part that is written already. */
  compacting: { number: count, trigger: string, messages: count, before: count, summary: string },
  chunk: { text: string },
  compacted: { status: word('completed', 'failed', 'cancelled'), error: string },
  /** The server's state, what to say about it (may be empty), and what the user can do. */
  server: { state: word('running', 'busy', 'down'), text: string, actions: list(commandName) },
  /** `full` means that as many are listed as may be, so that more may match; `note` is to be shown with them. */
  hits: { query: string, hits: list(hit), full: boolean, note: string, error: string },
  /** A line for the user, and the edit that it is about. */
  notice: { severity: word('info', 'warning', 'error'), text: string, editId: nullable(string) },
});

export type PageMessage = Guarded<typeof isPageMessage>;
export type HostMessage = Guarded<typeof isHostMessage>;
export type Part = Guarded<typeof part>;
export type Item = Guarded<typeof item>;
export type Marker = Guarded<typeof marker>;
export type Ledger = Guarded<typeof ledger>;
export type Usage = Guarded<typeof usage>;
export type EditLine = Guarded<typeof edit>;
export type CommandName = Guarded<typeof commandName>;
export type Lost = Guarded<typeof lost>;
export type Given = Guarded<typeof given>;
export type Hit = Guarded<typeof hit>;
export type PageMessageOf<T extends PageMessage['type']> = Extract<PageMessage, { type: T }>;
export type HostMessageOf<T extends HostMessage['type']> = Extract<HostMessage, { type: T }>;
