/** Any kind of row as DOM. Buttons in it call `RowActions`. */
import { full, short } from '../../figures';
import type { Usage } from '../messages';
import { button, h, setAttribute } from './dom';
import { icon } from './icons';
import { drawMarker } from './markerView';
import { type Details, drawParts, type Voice } from './parts';
import type { GroupRow, MarkerRow, MessageRow, Row } from './rows';
import { openLabel, roleWord } from './words';

export interface RowActions {
  toggle(row: Row): void;
  pin(row: MessageRow): void;
  askUndo(key: string): void;
  keepCompacted(key: string): void;
  undo(editId: string): void;
  copy(text: string): void;
  /** Keeps whether something inside a row is open. */
  keepOpen(key: string, open: boolean): void;
}

/** The state other than the row itself that its look depends on. */
export interface RowContext {
  readonly actions: RowActions;
  readonly usage: Usage | undefined;
  readonly now: number;
  /** Opened message and marker rows, and what is open inside them. */
  readonly expanded: ReadonlySet<string>;
  readonly details: Details;
  readonly voice: Voice;
  /** The marker whose undo waits for the user's confirmation. */
  readonly asking: string | undefined;
}

export function drawRow(row: Row, context: RowContext): HTMLElement {
  const element = drawKind(row, context);
  element.classList.add('row');
  setAttribute(element, 'role', 'treeitem');
  setAttribute(element, 'aria-level', row.kind === 'message' && row.inGroup ? 2 : 1);
  // An open row may hold pages of text. The name of a closed row is all that it shows.
  if ((row.kind === 'message' || row.kind === 'marker') && showsWhole(row, context)) setAttribute(element, 'aria-label', openLabel(row, context.now));
  element.dataset['key'] = row.key;
  element.addEventListener('click', (event) => {
    if (!isBusy(event)) context.actions.toggle(row);
  });
  return element;
}

/** Whether a row shows its whole content. */
function showsWhole(row: MessageRow | MarkerRow, { expanded, voice }: RowContext): boolean {
  return expanded.has(row.key) || (row.kind === 'message' && voice.said.has(row.item.id));
}

/** Estimates the pixels of a row. */
export function estimateRow(row: Row): number {
  if (row.kind === 'message') return 30 + 20 * Math.min(3, row.item.parts.length);
  return row.kind === 'marker' ? 52 : 34;
}

function drawKind(row: Row, context: RowContext): HTMLElement {
  switch (row.kind) {
    case 'earlier':
      return h('div.earlier', {}, h('span.spinner'), `${full(row.count)} earlier messages`);
    case 'group':
      return drawGroup(row);
    case 'marker':
      return drawMarker(row, context);
    case 'message':
      return drawMessage(row, context);
  }
}

function drawGroup(row: GroupRow): HTMLElement {
  const words = `${full(row.count)} archived ${row.count === 1 ? 'message' : 'messages'}`;
  return h('div.group', { 'aria-expanded': String(row.open) }, icon('chevron'), h('span.group-words', {}, words));
}

function drawMessage(row: MessageRow, context: RowContext): HTMLElement {
  const live = row.live ?? false;
  const open = context.expanded.has(row.key) && !live;
  const element = h(
    `div.message.${row.item.role}`,
    { 'aria-expanded': String(open) },
    h('div.who', {}, roleWord(row.item.role)),
    h('div.body', {}, ...drawParts(row, open ? loaded(row, context.details) : undefined, context.voice)),
    drawTokens(row),
    !row.item.archived && !live && pinButton(row, context),
  );
  if (live) setAttribute(element, 'aria-busy', true);
  element.classList.toggle('live', live);
  element.classList.toggle('said', context.voice.said.has(row.item.id));
  element.classList.toggle('archived', row.item.archived);
  element.classList.toggle('in-group', row.inGroup);
  element.classList.toggle('tools-only', row.toolsOnly);
  element.classList.toggle('pinned', row.pinned);
  element.classList.toggle('open', open);
  return element;
}

/** Makes the figure, with a text for what is otherwise shown by icons only. */
function drawTokens({ item, tokens, pinned, live }: MessageRow): HTMLElement {
  if (live) return h('div.tokens', {}, h('span.announcer', {}, item.role === 'assistant' ? ' being written' : ''));
  const title = item.archived ? 'Not in the context' : `${full(tokens)} tokens`;
  const spoken = [item.archived ? 'archived' : ' tokens', pinned ? ', pinned' : ''].join('');
  return h('div.tokens', { title }, item.archived ? '' : short(tokens), h('span.announcer', {}, spoken));
}

/** Returns a row's details once all its messages are loaded. Until then the row stays as it was. */
function loaded(row: MessageRow, details: Details): Details | undefined {
  return [row.item, ...row.results].every((item) => details.has(item.id)) ? details : undefined;
}

function pinButton(row: MessageRow, context: RowContext): HTMLButtonElement {
  const title = row.pinned ? 'Unpin (p)' : 'Pin: keep verbatim through every compaction (p)';
  return button('.pin.quiet', { title, 'aria-label': 'Pin', 'aria-pressed': String(row.pinned), tabindex: -1 }, () => context.actions.pin(row), icon('pin'));
}

/** Whether a click means something else than opening the row: a control in it, or selecting text. */
function isBusy(event: MouseEvent): boolean {
  const target = event.target instanceof Element ? event.target : undefined;
  const selecting = (document.getSelection()?.toString() ?? '') !== '';
  return selecting || target?.closest('button, summary, pre, a, .prose, .marker-body') != null;
}
