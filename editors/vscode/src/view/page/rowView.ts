/** Any kind of row as DOM. Buttons in it call `RowActions`. */
import * as l10n from '@vscode/l10n';

import { full, numberOf, short } from '../../figures';
import { speaker } from '../../words';
import type { Lost, Usage } from '../messages';
import { button, h, icon, setAttribute } from './dom';
import { drawMarker } from './markerView';
import { drawParts, type Details } from './parts';
import type { EarlierRow, GroupRow, MessageRow, Row } from './rows';
import { openLabel } from './words';

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

/** Estimates the pixels of a row. */
export function estimateRow(row: Row): number {
  if (row.kind === 'message') return 30 + 20 * Math.min(3, row.item.parts.length);
  return row.kind === 'marker' ? 52 : 34;
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
