/** What hooks gave back to the agent after a compaction: one line for each, which unfolds to the text that the agent got. */
import type { Given } from '../messages';
import { age } from './ages';
import { type Child, h } from './dom';
import { givenWhen, givenWords } from './lostWords';
import type { MarkerRow } from './rows';
import type { RowContext } from './rowView';

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
