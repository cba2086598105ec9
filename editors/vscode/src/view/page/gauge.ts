/** The gauge: how full the context is, the compaction threshold, the parts of the context, and the biggest messages of each. */
import * as l10n from '@vscode/l10n';

import { full, inPercent, numberOf, percent, short } from '../../words';
import type { Item, Usage } from '../messages';
import { age, button, h, icon, replace, setAttribute, setProperty, setText } from './dom';
import { evidence, gaugeWords, itemText, levelWord, partWord, sourceParts } from './words';

/** As many as a user can take in at a glance. */
const SHOWN = 8;

export interface Big {
  readonly id: string;
  /** The message's number, or an empty string for a summary. */
  readonly number: string;
  readonly text: string;
  /** Undefined for parts that are not counted by message. */
  readonly tokens: number | undefined;
}

/** Returns the part that a message of the context counts to. A message with tool results counts there as a whole. */
function partOf(item: Item): 'summary' | 'system_prompt' | 'tool_results' | 'messages' {
  if (item.marker) return 'summary';
  if (item.role === 'system') return 'system_prompt';
  return item.parts.some((part) => part.kind === 'tool_result') ? 'tool_results' : 'messages';
}

/** Returns the biggest messages that count to a part, biggest first. */
export function biggestOf(part: string, items: readonly Item[]): Big[] {
  return items
    .filter((item) => !item.archived && partOf(item) === part)
    .sort((a, b) => b.tokens - a.tokens)
    .slice(0, SHOWN)
    .map((item) => ({
      id: item.id,
      number: item.marker ? '' : numberOf(item.index),
      text: item.marker ? l10n.t('Compacted #{0}', item.marker.number) : itemText(item).slice(0, 120),
      tokens: item.marker ? undefined : item.tokens,
    }));
}

const EXPLAINED: Readonly<Record<string, string>> = {
  tools: l10n.t('Names, descriptions and parameters of the tools the model is offered.'),
  overhead: l10n.t('What the provider counts beyond what the conversation holds: its own instructions and tools.'),
  memory: l10n.t('What the memory tool keeps in the context.'),
};

/** Explains a part that has no messages. */
export function explain(part: string): string {
  return EXPLAINED[part] ?? l10n.t('Nothing of it is loaded yet.');
}

export interface GaugeActions {
  /** Returns the biggest messages of a part. */
  biggest(part: string): readonly Big[];
  reveal(id: string): void;
  setWindow(): void;
}

export class Gauge {
  readonly element: HTMLElement;
  readonly #actions: GaugeActions;
  readonly #share = h('span.share');
  readonly #words = h('span.gauge-words');
  readonly #level = h('span.level-word');
  readonly #bar = h('div.bar', { role: 'meter', 'aria-label': l10n.t('Context used'), 'aria-valuemin': 0 });
  readonly #mark = h('div.mark');
  readonly #parts = h('div.parts', { role: 'group', 'aria-label': l10n.t('What the context is made of') });
  readonly #source = h('div.source');
  /** Shown where there is little room: it unfolds the parts. */
  readonly #unfold = button('.unfold.quiet', { 'aria-expanded': 'false', 'aria-label': l10n.t('Parts') }, () => this.#toggleParts(), icon('chevron'), h('span.unfold-word', {}, l10n.t('Parts')));
  readonly #list = h('div.biggest', { hidden: true });
  #open: string | undefined;
  #shape = '';

  constructor(actions: GaugeActions) {
    this.#actions = actions;
    const line = h('div.gauge-line', {}, this.#share, this.#level, this.#words);
    this.element = h('div.gauge', {}, line, this.#bar, h('div.source-line', {}, this.#source, this.#unfold), this.#parts, this.#list);
  }

  show(usage: Usage | undefined): void {
    this.element.hidden = usage === undefined;
    if (!usage) return;
    const near = usage.source === 'reported' ? '' : '~';
    setText(this.#share, usage.size === null ? '' : `${near}${inPercent(usage.used, usage.size)}`);
    setText(this.#words, gaugeWords(usage));
    this.#words.title = evidence(usage);
    setText(this.#level, levelWord(usage));
    setAttribute(this.element, 'data-level', usage.level);
    this.#drawBar(usage);
    this.#drawParts(usage);
    this.#drawSource(usage);
  }

  #drawSource(usage: Usage): void {
    const { words, at, aged } = sourceParts(usage);
    replace(this.#source, at === null ? words : age(at, aged));
    this.#source.title = words;
    if (usage.size === null) this.#source.append(' · ', button('.link', {}, () => this.#actions.setWindow(), l10n.t('Set the model’s window')));
  }

  #toggleParts(): void {
    const open = this.element.classList.toggle('unfolded');
    setAttribute(this.#unfold, 'aria-expanded', open);
  }

  #drawBar(usage: Usage): void {
    const size = usage.size ?? usage.used;
    setAttribute(this.#bar, 'aria-valuenow', usage.used);
    setAttribute(this.#bar, 'aria-valuemax', size);
    setAttribute(this.#bar, 'aria-valuetext', l10n.t('{0} per cent, {1}', percent(usage.used, size), gaugeWords(usage)));
    const parts = partsOf(usage);
    this.#reshape(parts);
    parts.forEach(([, tokens], i) => setProperty(this.#bar.children[i] as HTMLElement, '--share', share(tokens, size)));
    this.#mark.hidden = usage.compactAt === null;
    if (usage.compactAt === null) return;
    setProperty(this.#mark, '--at', share(usage.compactAt, size));
    this.#mark.title = l10n.t('Compacts at {0} tokens', full(usage.compactAt));
  }

  /** Makes segments and buttons again only when the set of parts changes, not at each figure. */
  #reshape(parts: readonly (readonly [string, number])[]): void {
    const shape = parts.map(([part]) => part).join();
    if (shape === this.#shape) return;
    this.#shape = shape;
    replace(this.#bar, ...parts.map(([part]) => h(`div.segment.part-${part}`)), this.#mark);
    replace(this.#parts, ...parts.map(([part]) => this.#partButton(part)));
  }

  #partButton(part: string): HTMLElement {
    const act = (): void => this.#toggle(part);
    return button('.part', { 'data-part': part, 'aria-expanded': 'false' }, act, h(`span.swatch.part-${part}`), h('span', {}, partWord(part)), h('span.part-tokens'));
  }

  #drawParts(usage: Usage): void {
    partsOf(usage).forEach(([part, tokens], i) => {
      const element = this.#parts.children[i] as HTMLElement;
      setText(element.lastElementChild as HTMLElement, short(tokens));
      element.title = l10n.t('{0}: {1} tokens, {2} of what is used', partWord(part), full(tokens), inPercent(tokens, usage.used));
      setAttribute(element, 'aria-expanded', String(part === this.#open));
    });
  }

  #toggle(part: string): void {
    this.#open = this.#open === part ? undefined : part;
    for (const element of this.#parts.children) setAttribute(element, 'aria-expanded', String((element as HTMLElement).dataset['part'] === this.#open));
    this.#list.hidden = this.#open === undefined;
    if (this.#open !== undefined) this.#drawBiggest(this.#open);
  }

  #drawBiggest(part: string): void {
    const items = this.#actions.biggest(part);
    const head = h('div.biggest-head', {}, items.length > 0 ? l10n.t('Biggest in {0}', partWord(part)) : explain(part));
    const lines = items.map((item) =>
      h(
        'li',
        {},
        button(
          '.biggest-item',
          {},
          () => this.#actions.reveal(item.id),
          h('span.place', {}, item.number),
          h('span.biggest-text', {}, item.text),
          h('span.tokens', {}, item.tokens === undefined ? '' : short(item.tokens)),
        ),
      ),
    );
    replace(this.#list, head, lines.length > 0 && h('ul', {}, ...lines));
  }
}

/** Returns the parts that are not empty, largest first. */
function partsOf(usage: Usage): (readonly [string, number])[] {
  return Object.entries(usage.breakdown)
    .filter(([, tokens]) => tokens > 0)
    .sort(([, a], [, b]) => b - a);
}

function share(part: number, whole: number): string {
  return `${Math.min(100, (100 * part) / Math.max(1, whole)).toFixed(2)}%`;
}
