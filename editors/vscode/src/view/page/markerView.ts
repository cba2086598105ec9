/** A compaction marker: one line that opens to summary, ledger, figures, undo and copy. */
import { full, messages } from '../../figures';
import type { Marker } from '../messages';
import { age } from './ages';
import { button, type Child, h } from './dom';
import { drawGiven } from './givenView';
import { icon } from './icons';
import { drawLost } from './lostView';
import type { MarkerRow } from './rows';
import type { RowContext } from './rowView';
import { drawSummary } from './summaryView';
import { markerWords, undoWords } from './words';

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
  const title = h('span.marker-title', {}, `Compacted #${marker.number}`, h('span.marker-word', {}, ' ·'));
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
  const saved = marker.after > 0 && marker.before > marker.after ? `, ${full(marker.before - marker.after)} tokens saved` : '';
  const writer = marker.summarizer === 'offline' ? 'summary written offline' : marker.summarizer === 'edited' ? 'summary edited by hand' : `summary by ${marker.summarizer}`;
  return `${messages(marker.messagesArchived)} archived${saved}; ${writer}`;
}

function drawLedger({ key, marker: { ledger } }: MarkerRow, context: RowContext): Child[] {
  const drawList = <T>(title: string, entries: readonly T[], line: (entry: T) => Child[]): Child =>
    entries.length > 0 && drawDetails(`${key} ${title}`, title, entries.map((entry) => h('li', {}, ...line(entry))), context);
  return [
    drawList('Files', ledger.files, (file) => [h('code', {}, file.path), note(file.action, file.times)]),
    drawList('Commands', ledger.commands, (run) => [
      h(`span.outcome-${run.outcome}`, { title: run.outcome, role: 'img', 'aria-label': run.outcome }, OUTCOMES[run.outcome] ?? '·'),
      h('code', {}, run.command),
      note(run.detail, run.times),
    ]),
    drawList('Identifiers', ledger.identifiers, (name) => [h('code', {}, name.name), note(name.context, name.times)]),
  ];
}

const OUTCOMES: Readonly<Record<string, string>> = { passed: '✓', failed: '✗', unknown: '·' };

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
  const undo = marker.editId !== null && button('.action.ask-undo', {}, () => context.actions.askUndo(row.key), icon('undo'), 'Undo…');
  return h('div.actions', {}, undo, button('.action', {}, () => context.actions.copy(marker.summary), icon('copy'), 'Copy summary'));
}

/** Asks for confirmation of an undo, and says what it brings back. */
function drawQuestion(row: MarkerRow, context: RowContext): HTMLElement {
  const { editId } = row.marker;
  return h(
    'div.question',
    { role: 'group', 'aria-label': 'Undo this compaction?' },
    h('p', {}, undoWords(row.marker, context.usage)),
    h(
      'div.actions',
      {},
      button('.action.primary.confirm-undo', {}, () => editId !== null && context.actions.undo(editId), icon('undo'), 'Undo'),
      button('.action', {}, () => context.actions.keepCompacted(row.key), 'Keep compacted'),
    ),
  );
}
