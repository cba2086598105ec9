/** Any kind of row as DOM: messages with their parts, markers, and what a compaction left out. Buttons in it call `RowActions`. */
import * as l10n from '@vscode/l10n';

import { full, messages, numberOf, plainText, short, speaker } from '../../words';
import type { Given, Item, Lost, Marker, PageMessageOf, Part, Usage } from '../messages';
import { age, button, type Child, h, icon, setAttribute } from './dom';
import { markdown } from './markdown';
import type { Section } from './markdownView';
import type { EarlierRow, GroupRow, MarkerRow, MessageRow, Row } from './transcript';
import { markerWords, openLabel, outcomeLine, undoWords } from './words';

export interface RowActions {
  toggle(row: Row): void;
  pin(row: MessageRow): void;
  askUndo(key: string): void;
  keepCompacted(key: string): void;
  undo(editId: string): void;
  copy(text: string): void;
  /** Puts what a compaction left out into the agent's terminal. */
  giveBack(editId: string): void;
  /** Keeps whether something inside a row is open. */
  keepOpen(key: string, open: boolean): void;
  /** Brings the message with this number into view. */
  showNumber(number: number): void;
  /** Requests the earlier messages again, which could not be read. */
  retry(): void;
}

/** The state other than the row itself that its look depends on. */
export interface RowContext {
  readonly actions: RowActions;
  readonly usage: Usage | undefined;
  readonly now: number;
  /** Opened message and marker rows, and what is open inside them. */
  readonly expanded: ReadonlySet<string>;
  readonly details: Details;
  /** What compactions left out, by edit. */
  readonly lost: ReadonlyMap<string, Lost>;
  /** The marker whose undo waits for the user's confirmation. */
  readonly asking: string | undefined;
  /** Why the earlier messages could not be read, or undefined while they are being read. */
  readonly unread: string | undefined;
}

/** The most characters of a row that are its name for screen readers. */
const SPOKEN = 1_000;

export function drawRow(row: Row, context: RowContext): HTMLElement {
  const element = drawKind(row, context);
  element.classList.add('row');
  setAttribute(element, 'role', 'treeitem');
  setAttribute(element, 'aria-level', row.kind === 'message' && row.inGroup ? 2 : 1);
  // An open row may hold pages of text, which nobody wants to hear as its name. The name of any other row is all that it shows.
  if ((row.kind === 'message' || row.kind === 'marker') && context.expanded.has(row.key) && element.textContent.length > SPOKEN) setAttribute(element, 'aria-label', openLabel(row, context.now));
  element.dataset['key'] = row.key;
  element.addEventListener('click', (event) => {
    if (!isBusy(event)) context.actions.toggle(row);
  });
  return element;
}

function drawKind(row: Row, context: RowContext): HTMLElement {
  switch (row.kind) {
    case 'earlier':
      return drawEarlier(row, context);
    case 'group':
      return drawGroup(row);
    case 'marker':
      return drawMarker(row, context);
    case 'message':
      return drawMessage(row, context);
  }
}

function drawEarlier({ count }: EarlierRow, { unread, actions }: RowContext): HTMLElement {
  const words = count === 1 ? l10n.t('1 earlier message') : l10n.t('{0} earlier messages', full(count));
  if (unread === undefined) return h('div.earlier', {}, h('span.spinner'), words);
  const why = h('span.earlier-words', {}, `${count === 1 ? l10n.t('1 earlier message could not be read.') : l10n.t('{0} earlier messages could not be read.', full(count))} ${unread}`);
  return h('div.earlier.unread', {}, why, button('.action', {}, () => actions.retry(), l10n.t('Try again')));
}

function drawGroup(row: GroupRow): HTMLElement {
  const words = row.count === 1 ? l10n.t('1 archived message') : l10n.t('{0} archived messages', full(row.count));
  return h('div.group', { 'aria-expanded': String(row.open) }, icon('chevron'), h('span.group-words', {}, words));
}

function drawMessage(row: MessageRow, context: RowContext): HTMLElement {
  const open = context.expanded.has(row.key);
  const element = h(
    `div.message.${row.item.role}`,
    { 'aria-expanded': String(open) },
    h('div.who', {}, speaker(row.item.role), ' ', h('span.number', {}, numberOf(row.item.index))),
    h('div.body', {}, ...drawParts(row, open ? loaded(row, context.details) : undefined)),
    drawTokens(row),
    !row.item.archived && pinButton(row, context),
  );
  element.classList.toggle('archived', row.item.archived);
  element.classList.toggle('in-group', row.inGroup);
  element.classList.toggle('tools-only', row.toolsOnly);
  element.classList.toggle('pinned', row.pinned);
  element.classList.toggle('open', open);
  return element;
}

/** Makes the figure, with a text for what is otherwise shown by icons only. */
function drawTokens({ item, tokens, pinned }: MessageRow): HTMLElement {
  const title = item.archived ? l10n.t('{0}: not in the context', numberOf(item.index)) : l10n.t('{0}: {1} tokens', numberOf(item.index), full(tokens));
  const spoken = [item.archived ? l10n.t('archived') : ` ${l10n.t('tokens')}`, ...(pinned ? [l10n.t('pinned')] : [])].join(', ');
  return h('div.tokens', { title }, item.archived ? '' : short(tokens), h('span.announcer', {}, spoken));
}

/** Returns a row's details once all its messages are loaded. Until then the row stays as it was. */
function loaded(row: MessageRow, details: Details): Details | undefined {
  return [row.item, ...row.results].every((item) => details.has(item.id)) ? details : undefined;
}

function pinButton(row: MessageRow, context: RowContext): HTMLButtonElement {
  const title = row.pinned ? l10n.t('Unpin (p)') : l10n.t('Pin: keep verbatim through every compaction (p)');
  return button('.pin.quiet', { title, 'aria-label': l10n.t('Pin'), 'aria-pressed': String(row.pinned), tabindex: -1 }, () => context.actions.pin(row), icon('pin'));
}

/** Whether a click means something else than opening the row: a control in it, or selecting text. */
function isBusy(event: MouseEvent): boolean {
  const target = event.target instanceof Element ? event.target : undefined;
  const selecting = (document.getSelection()?.toString() ?? '') !== '';
  return selecting || target?.closest('button, summary, pre, a, .prose, .marker-body') != null;
}

/** Whole contents by message id, for rows that are open. */
export type Details = ReadonlyMap<string, readonly Part[]>;

/** Makes everything that a message row shows between the speaker and the figure. */
export function drawParts(row: MessageRow, details: Details | undefined): HTMLElement[] {
  const results = new Map(row.results.flatMap((item) => resultsOf(item, details)));
  const open = details !== undefined;
  return (details?.get(row.item.id) ?? row.item.parts).map((part) => {
    if (part.kind === 'tool_use') return drawToolUse(part, results.get(part.id), row.itemized, open);
    return part.kind === 'tool_result' ? drawToolResult({ part, item: row.item }, open) : drawPart(part, row.item, open);
  });
}

interface Result {
  readonly part: Extract<Part, { kind: 'tool_result' }>;
  readonly item: Item;
}

function resultsOf(item: Item, details: Details | undefined): [string, Result][] {
  const parts = details?.get(item.id) ?? item.parts;
  return parts.flatMap((part) => (part.kind === 'tool_result' ? [[part.id, { part, item }]] : []));
}

function drawToolUse(part: Extract<Part, { kind: 'tool_use' }>, result: Result | undefined, itemized: boolean, open: boolean): HTMLElement {
  const line = h('div.tool-line', {}, icon('tool'), h('span.tool-name', {}, part.name));
  if (!open) line.append(' ', h('span.tool-argument', { title: part.argument }, part.argument));
  const tool = h('div.tool', {}, line);
  if (open && part.argument !== '') tool.append(h('pre.contents', { tabindex: 0 }, part.argument));
  if (result && itemized && !result.item.archived) line.append(h('span.tool-tokens', {}, short(result.item.tokens)));
  if (result) addResult(tool, line, result, open);
  return tool;
}

function drawToolResult(result: Result, open: boolean): HTMLElement {
  const line = h('div.tool-line', {}, icon('tool'), h('span.tool-name', {}, l10n.t('result')));
  if (!open) line.append(' ', h('span.tool-argument', {}, outcomeLine(plainText(result.part.text), result.part.failed)));
  const tool = h('div.tool', {}, line);
  addResult(tool, line, result, open);
  return tool;
}

function addResult(tool: HTMLElement, line: HTMLElement, result: Result, open: boolean): void {
  const { part, item } = result;
  if (item.replaced !== null) line.append(h('span.badge', { title: l10n.t('In the context stands: {0}', item.replaced) }, clearedWord(item.replaced)));
  if (part.failed && !open) tool.append(h('div.outcome', {}, `✗ ${outcomeLine(plainText(part.text), true)}`));
  if (open && part.text !== '') tool.append(h(`pre.contents${part.failed ? '.failed' : ''}`, { tabindex: 0 }, part.text), ...more(part));
}

function clearedWord(replacement: string): string {
  return /later/i.test(replacement) ? l10n.t('cleared, shown again later') : l10n.t('cleared');
}

function drawPart(part: Exclude<Part, { kind: 'tool_use' | 'tool_result' }>, item: Item, open: boolean): HTMLElement {
  switch (part.kind) {
    case 'text':
      return drawText(part, item, open);
    case 'thinking':
      return h(`div.thinking${open ? '' : '.clamp'}`, {}, h('span.badge', {}, l10n.t('thinking')), ' ', open ? part.text : plainText(part.text), ...more(part, open));
    case 'image':
      return h('div.attachment', {}, part.label);
    case 'resource':
      return h('div.attachment', {}, part.label, open && part.text !== '' && h('pre.contents', { tabindex: 0 }, part.text));
  }
}

function drawText(part: Extract<Part, { kind: 'text' }>, item: Item, open: boolean): HTMLElement {
  if (!open) return h('div.text.clamp', { dir: 'auto' }, plainText(part.text) || part.text);
  if (item.role !== 'assistant') return h('div.text', { dir: 'auto' }, part.text, ...more(part));
  const view = markdown();
  return view ? h('div.text.prose', {}, view.renderMarkdown(part.text), ...more(part)) : h('div.text', { dir: 'auto' }, part.text, ...more(part));
}

/** Says that even the open row does not show the whole content. */
function more(part: { readonly more: boolean }, open = true): HTMLElement[] {
  return part.more && open ? [h('div.more', {}, l10n.t('The rest is too long to show here; export the conversation to read it.'))] : [];
}

export function drawMarker(row: MarkerRow, context: RowContext): HTMLElement {
  const open = context.expanded.has(row.key);
  const { marker } = row;
  const head = h(
    'div.marker-head',
    {},
    icon('marker'),
    drawLine(marker),
    icon('chevron'),
  );
  const element = h('div.marker', { 'aria-expanded': String(open) }, head);
  if (open) element.append(drawBody(row, context));
  element.classList.toggle('open', open);
  return element;
}

/** Breaks the line so that no line begins with a dot. */
function drawLine(marker: Marker): HTMLElement {
  const words = [age(marker.timestamp), ...markerWords(marker)];
  const title = h('span.marker-title', {}, l10n.t('Compacted #{0}', marker.number), h('span.marker-word', {}, ' ·'));
  return h('div.marker-line', {}, title, ...words.map((word, at) => h('span.marker-word', {}, word, at < words.length - 1 && ' ·')));
}

function drawBody(row: MarkerRow, context: RowContext): HTMLElement {
  const { marker } = row;
  return h(
    'div.marker-body',
    {},
    h('div.figures', {}, figures(marker)),
    drawLost(row, context),
    ...drawGiven(row, context),
    h('div.prose.summary', {}, ...drawSummary(row, context)),
    ...drawLedger(row, context),
    context.asking === row.key ? drawQuestion(row, context) : drawActions(row, context),
  );
}

function figures(marker: Marker): string {
  const archived = l10n.t('{0} archived', messages(marker.messagesArchived));
  const saved = marker.after > 0 && marker.before > marker.after ? [l10n.t('{0} tokens saved', full(marker.before - marker.after))] : [];
  return [archived, ...saved, writerWords(marker)].join(' · ');
}

function writerWords({ summarizer }: Marker): string {
  if (summarizer === 'offline') return l10n.t('summary written offline');
  return summarizer === 'edited' ? l10n.t('summary edited by hand') : l10n.t('summary by {0}', summarizer);
}

function drawLedger({ key, marker: { ledger } }: MarkerRow, context: RowContext): Child[] {
  const drawList = <T>(name: string, title: string, entries: readonly T[], line: (entry: T) => Child[]): Child =>
    entries.length > 0 && drawDetails(`${key}:${name}`, title, entries.map((entry) => h('li', {}, ...line(entry))), context);
  return [
    drawList('files', l10n.t('Files'), ledger.files, (file) => [h('code', {}, file.path), note(ACTIONS[file.action] ?? file.action, file.times)]),
    drawList('commands', l10n.t('Commands'), ledger.commands, (run) => [
      drawOutcome(run.outcome),
      h('code', {}, run.command),
      note(run.detail, run.times),
    ]),
    drawList('identifiers', l10n.t('Identifiers'), ledger.identifiers, (name) => [h('code', {}, name.name), note(name.context, name.times)]),
  ];
}

const ACTIONS: Readonly<Record<string, string>> = { created: l10n.t('created'), modified: l10n.t('modified'), deleted: l10n.t('deleted'), read: l10n.t('read') };
const SIGNS: Readonly<Record<string, string>> = { passed: '✓', failed: '✗', unknown: '·' };
const OUTCOMES: Readonly<Record<string, string>> = { passed: l10n.t('passed'), failed: l10n.t('failed'), unknown: l10n.t('unknown') };

function drawOutcome(outcome: string): HTMLElement {
  const words = OUTCOMES[outcome] ?? outcome;
  return h(`span.outcome-${outcome}`, { title: words, role: 'img', 'aria-label': words }, SIGNS[outcome] ?? '·');
}

function drawDetails(key: string, title: string, lines: readonly HTMLElement[], context: RowContext): HTMLElement {
  const summary = h('summary', {}, title, ' ', h('span.count', {}, String(lines.length)));
  const element = h('details.ledger', { open: context.expanded.has(key) }, summary, h('ul', {}, ...lines));
  element.addEventListener('toggle', () => context.actions.keepOpen(key, element.open));
  return element;
}

function note(text: string, times: number): HTMLElement {
  return h('span.note', {}, [text, times > 1 ? `${times}×` : ''].filter((word) => word !== '').join(', '));
}

function drawActions(row: MarkerRow, context: RowContext): HTMLElement {
  const { marker } = row;
  const undo = marker.editId !== null && button('.action.ask-undo', {}, () => context.actions.askUndo(row.key), icon('undo'), l10n.t('Undo…'));
  return h('div.actions', {}, undo, button('.action', {}, () => context.actions.copy(marker.summary), icon('copy'), l10n.t('Copy summary')));
}

/** Asks for confirmation of an undo, and says what it brings back. */
function drawQuestion(row: MarkerRow, context: RowContext): HTMLElement {
  const { editId } = row.marker;
  return h(
    'div.question',
    { role: 'group', 'aria-label': l10n.t('Undo this compaction?') },
    h('p', {}, undoWords(row.marker, context.usage)),
    h(
      'div.actions',
      {},
      button('.action.primary.confirm-undo', {}, () => editId !== null && context.actions.undo(editId), icon('undo'), l10n.t('Undo')),
      button('.action', {}, () => context.actions.keepCompacted(row.key), l10n.t('Keep compacted')),
    ),
  );
}

/** Characters of a section's text from which it is folded at first: about eight lines of a side bar. */
const LONG = 320;

export function drawSummary({ key, marker }: MarkerRow, context: RowContext): readonly Node[] {
  const view = markdown();
  if (!view) return [h('div.text', { dir: 'auto' }, marker.summary)];
  // Only offline code writes numbers of this conversation's messages.
  const show = marker.summarizer === 'offline' ? (number: number): void => { context.actions.showNumber(number); } : undefined;
  const sections = view.readSections(marker.summary, show);
  const isFoldable = sections.length > 1;
  return sections.map((section, at) => (section.title === '' ? section.body : drawSection(`${key}:section:${at}`, section, isFoldable && section.size >= LONG, context)));
}

/** What the user has unfolded or folded is kept as a difference from how the section is at first. */
function drawSection(key: string, { title, gist, body }: Section, isFolded: boolean, context: RowContext): HTMLElement {
  const open = context.expanded.has(key) === isFolded;
  const heading = h('span.md-heading', { role: 'heading', 'aria-level': 2, dir: 'auto' }, title);
  const element = h('details.section', { open }, h('summary', {}, heading, h('span.gist', { dir: 'auto', 'aria-hidden': true }, gist)), body);
  element.addEventListener('toggle', () => { context.actions.keepOpen(key, element.open === isFolded); });
  return element;
}

/** A kind with more entries than a side bar shows at once is folded at first. */
const MANY = 12;

/** Draws what a marker's compaction left out, or that it is being found. Draws nothing where nobody asks for it. */
export function drawLost(row: MarkerRow, context: RowContext): Child {
  const { editId } = row.marker;
  if (editId === null || !asksFor(context)) return undefined;
  const lost = context.lost.get(editId);
  if (!lost) return h('div.lost.figures', {}, l10n.t('Looking for what was left out…'));
  if (lost.entries.length === 0) return h('div.lost.figures', {}, lostWords(lost));
  const key = `${row.key}:lost`;
  const kinds = Object.keys(lost.counts).map((kind) => drawLostKind(key, kind, lost, context));
  const summary = h('summary', {}, lostWords(lost));
  const element = h('details.lost.ledger', { open: context.expanded.has(key) }, summary, ...kinds, drawLostActions(editId, lost, context));
  element.addEventListener('toggle', () => { context.actions.keepOpen(key, element.open); });
  return element;
}

/** Whether the conversation is an agent's, or was taken over from one. What Ullage itself archives is not lost. */
export function asksFor({ usage }: Pick<RowContext, 'usage'>): boolean {
  return usage !== undefined && (usage.followed || usage.agent !== '');
}

/** What the user has unfolded or folded is kept as a difference from how the kind is at first. */
function drawLostKind(key: string, kind: string, { counts, entries }: Lost, context: RowContext): HTMLElement {
  const listed = entries.filter((entry) => entry.kind === kind);
  const count = counts[kind] ?? listed.length;
  const isFolded = count > MANY;
  const own = `${key} ${kind}`;
  const rest = count > listed.length && h('li.note', {}, l10n.t('{0} more', full(count - listed.length)));
  const summary = h('summary', {}, kindTitle(kind), ' ', h('span.count', {}, full(count)));
  const element = h('details.lost-kind', { open: context.expanded.has(own) === isFolded }, summary, h('ul', {}, ...listed.map((entry) => drawEntry(entry, context)), rest));
  element.addEventListener('toggle', () => { context.actions.keepOpen(own, element.open === isFolded); });
  return element;
}

/** The kinds that are read as code, from left to right. */
const CODE: ReadonlySet<string> = new Set(['check', 'file']);

function drawEntry({ kind, state, text, detail, index }: Lost['entries'][number], { actions }: RowContext): HTMLElement {
  const number = index + 1;
  const reference = button('.link.number-link', { title: l10n.t('Show message #{0}', number) }, () => { actions.showNumber(number); }, `#${number}`);
  const word = stateWord(kind, state);
  return h('li', { dir: CODE.has(kind) ? 'ltr' : 'auto' }, word !== '' && h('span.state', {}, `[${word}] `), CODE.has(kind) ? h('code', {}, text) : text, detail !== '' && h('span.note', {}, detail), ' ', reference);
}

function drawLostActions(editId: string, { brief, terminal }: Lost, { actions }: RowContext): Child {
  if (brief === '') return undefined;
  const copy = button('.action.copy-lost', { title: l10n.t('Copy what is needed most of it, quoted, to give it back to the agent') }, () => { actions.copy(brief); }, icon('copy'), l10n.t('Copy'));
  const send = terminal !== null && button('.action.send-lost', { title: l10n.t('Put it into the terminal “{0}”, in which the agent runs. Enter is not pressed.', terminal) }, () => { actions.giveBack(editId); }, icon('send'), l10n.t('Send to the Terminal'));
  return h('div.actions', {}, copy, send);
}

/** Draws a line for each time that something was given back after a marker's compaction. */
export function drawGiven(row: MarkerRow, context: RowContext): Child[] {
  const { editId } = row.marker;
  const given = editId === null ? undefined : context.lost.get(editId)?.given;
  return (given ?? []).map((one, at) => drawOne(`${row.key}:given:${at}`, one, context));
}

function drawOne(key: string, given: Given, context: RowContext): HTMLElement {
  const when = h('span.note', {}, givenWhen(given.why), ' · ', age(given.at));
  const summary = h('summary', {}, givenWords(given), ' ', when);
  const text = h('pre.given-text', { dir: 'auto', tabindex: '0' }, given.text);
  const element = h('details.given.ledger', { open: context.expanded.has(key) }, summary, text);
  element.addEventListener('toggle', () => { context.actions.keepOpen(key, element.open); });
  return element;
}

const TITLES: Readonly<Record<string, string>> = {
  said: l10n.t('What you said'),
  task: l10n.t('Tasks that are not done'),
  problem: l10n.t('Problems'),
  check: l10n.t('Checks'),
  commit: l10n.t('Commits'),
  file: l10n.t('Files'),
  job: l10n.t('Sub-agents and background commands'),
  words: l10n.t('What the agent told you'),
  earlier: l10n.t('An earlier summary'),
};

/** Returns the heading of the things of one kind. */
export function kindTitle(kind: string): string {
  return TITLES[kind] ?? kind;
}

const STATES: Readonly<Record<string, string>> = {
  'open': l10n.t('open'),
  'in progress': l10n.t('in progress'),
  'mended': l10n.t('mended'),
  'created': l10n.t('created'),
  'changed': l10n.t('changed'),
  'deleted': l10n.t('deleted'),
};
/** The kinds whose headings do not say the state of their things. */
const CHANGING: ReadonlySet<string> = new Set(['task', 'problem', 'file']);

/** Returns the state of a thing, or an empty text if the heading of its kind says it. */
export function stateWord(kind: string, state: string): string {
  return CHANGING.has(kind) ? STATES[state] ?? state : '';
}

/** Returns `Left out: 3 of your messages, 1 file; still missing: 1 file`, or why there is no list. */
export function lostWords({ error, readable, counts, missing }: Pick<Lost, 'error' | 'readable' | 'counts' | 'missing'>): string {
  if (error !== '') return l10n.t('What was left out could not be found: {0}', error);
  if (!readable) return l10n.t('The summary is encrypted, so nobody but its provider knows what it leaves out.');
  const left = counted(counts);
  const still = counted(missing);
  if (left === '') return l10n.t('Everything that you typed is in the summary, and so are the open tasks and problems, the changed files and the last commit.');
  if (still === left) return l10n.t('Left out: {0}', left);
  return still === '' ? l10n.t('Left out: {0}; all of it given back', left) : l10n.t('Left out: {0}; still missing: {1}', left, still);
}

/** Returns `Given back: 1,204 tokens`. */
export function givenWords({ tokens }: Pick<Given, 'tokens'>): string {
  return l10n.t('Given back: {0}', l10n.t('{0} tokens', full(tokens)));
}

/** Returns when it was given back, apart from the time. */
export function givenWhen(why: string): string {
  return MOMENTS[why] ?? why;
}

const MOMENTS: Readonly<Record<string, string>> = {
  compact: l10n.t('right after the compaction'),
  resume: l10n.t('when the session was resumed'),
  prompt: l10n.t('with the next prompt'),
};

const COUNTED: Readonly<Record<string, readonly [() => string, (count: string) => string]>> = {
  said: [() => l10n.t('1 of your messages'), (count) => l10n.t('{0} of your messages', count)],
  task: [() => l10n.t('1 open task'), (count) => l10n.t('{0} open tasks', count)],
  problem: [() => l10n.t('1 problem'), (count) => l10n.t('{0} problems', count)],
  check: [() => l10n.t('1 check'), (count) => l10n.t('{0} checks', count)],
  commit: [() => l10n.t('1 commit'), (count) => l10n.t('{0} commits', count)],
  file: [() => l10n.t('1 file'), (count) => l10n.t('{0} files', count)],
  job: [() => l10n.t('1 job'), (count) => l10n.t('{0} jobs', count)],
  words: [() => l10n.t('1 text of the agent'), (count) => l10n.t('{0} texts of the agent', count)],
  earlier: [() => l10n.t('1 line of an earlier summary'), (count) => l10n.t('{0} lines of an earlier summary', count)],
};

function counted(counts: Lost['counts']): string {
  return Object.entries(counts).map(([kind, count]) => {
    const [one, several] = COUNTED[kind] ?? [];
    if (one === undefined || several === undefined) return `${full(count)} ${kind}`;
    return count === 1 ? one() : several(full(count));
  }).join(', ');
}

export class LostLists {
  readonly #send: (message: PageMessageOf<'lost'>) => void;
  readonly #lists = new Map<string, Lost>();
  readonly #asked = new Set<string>();

  constructor(send: (message: PageMessageOf<'lost'>) => void) {
    this.#send = send;
  }

  /** The lists that have come. */
  get lists(): ReadonlyMap<string, Lost> {
    return this.#lists;
  }

  add(lost: Lost): void {
    this.#lists.set(lost.editId, lost);
  }

  clear(): void {
    this.#lists.clear();
    this.#asked.clear();
  }

  /** Requests a list unless that was done. */
  need(editId: string): void {
    if (this.#asked.has(editId)) return;
    this.#asked.add(editId);
    this.#send({ type: 'lost', editId });
  }

  /** Has the list requested again when it is needed next. The agent's terminal may have been opened or closed meanwhile. */
  forget(editId: string): void {
    this.#asked.delete(editId);
  }
}
