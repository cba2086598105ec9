/** What a compaction left out: one line at its marker, which unfolds to the things by kind. */
import * as l10n from '@vscode/l10n';

import { full } from '../../figures';
import type { Lost } from '../messages';
import { button, type Child, h } from './dom';
import { icon } from './icons';
import { kindTitle, lostWords, stateWord } from './lostWords';
import type { MarkerRow } from './rows';
import type { RowContext } from './rowView';

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
  const kinds = Object.keys(lost.counts).map((kind) => drawKind(key, kind, lost, context));
  const summary = h('summary', {}, lostWords(lost));
  const element = h('details.lost.ledger', { open: context.expanded.has(key) }, summary, ...kinds, drawActions(editId, lost, context));
  element.addEventListener('toggle', () => { context.actions.keepOpen(key, element.open); });
  return element;
}

/** Whether the conversation is an agent's, or was taken over from one. What Ullage itself archives is not lost. */
export function asksFor({ usage }: Pick<RowContext, 'usage'>): boolean {
  return usage !== undefined && (usage.followed || usage.agent !== '');
}

/** What the user has unfolded or folded is kept as a difference from how the kind is at first. */
function drawKind(key: string, kind: string, { counts, entries }: Lost, context: RowContext): HTMLElement {
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

function drawActions(editId: string, { brief, terminal }: Lost, { actions }: RowContext): Child {
  if (brief === '') return undefined;
  const copy = button('.action.copy-lost', { title: l10n.t('Copy what is needed most of it, quoted, to give it back to the agent') }, () => { actions.copy(brief); }, icon('copy'), l10n.t('Copy'));
  const send = terminal !== null && button('.action.send-lost', { title: l10n.t('Put it into the terminal “{0}”, in which the agent runs. Enter is not pressed.', terminal) }, () => { actions.giveBack(editId); }, icon('send'), l10n.t('Send to the Terminal'));
  return h('div.actions', {}, copy, send);
}
