/** A compaction's summary, to be read: its sections fold under their headings, and a long one is folded at first. */
import { h } from './dom';
import { markdown } from './markdown';
import type { Section } from './markdownView';
import type { MarkerRow } from './rows';
import type { RowContext } from './rowView';

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
