/** A compaction marker: one line that opens to summary, ledger, figures, undo and copy. */
import * as l10n from '@vscode/l10n';

import { full, messages } from '../../figures';
import type { Marker } from '../messages';
import { age } from './ages';
import { button, h, icon, type Child } from './dom';
import { drawGiven, drawLost } from './lostView';
import { markdown } from './markdown';
import type { Section } from './markdownView';
import type { RowContext } from './rowView';
import type { MarkerRow } from './rows';
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
