/** Search in the whole transcript, archived or not. The server searches; this shows its hits. */
import * as l10n from '@vscode/l10n';

import { numberOf } from '../../figures';
import type { Hit, HostMessageOf } from '../messages';
import { button, h, replace } from './dom';

/** Milliseconds: long enough to type a word, short enough to seem immediate. */
const TYPING_PAUSE = 200;

export interface SearchActions {
  search(query: string): void;
  reveal(messageId: string): void;
  announce(words: string): void;
  /** Returns the word for who speaks. */
  speaker(hit: Hit): string;
}

export class SearchView {
  readonly element: HTMLElement;
  readonly #actions: SearchActions;
  readonly #input = h('input.search-input', { type: 'search', placeholder: l10n.t('Search this session, archived messages too'), 'aria-label': l10n.t('Search this session'), spellcheck: 'false' });
  readonly #hits = h('div.hits');
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(actions: SearchActions) {
    this.#actions = actions;
    this.element = h('section.panel.search', { hidden: true, 'aria-label': l10n.t('Search') }, this.#input, this.#hits);
    this.#input.addEventListener('input', () => this.#typed());
  }

  focus(): void {
    this.#input.focus();
    this.#input.select();
  }

  clear(): void {
    this.#input.value = '';
    replace(this.#hits);
  }

  show(message: HostMessageOf<'hits'>): void {
    if (message.query !== this.#input.value.trim()) return;
    const words = message.error || countWords(message);
    replace(this.#hits, h('p.empty-words', {}, words), message.hits.length > 0 && h('ul', {}, ...message.hits.map((hit) => this.#line(hit))));
    this.#actions.announce(words);
  }

  #typed(): void {
    clearTimeout(this.#timer);
    const query = this.#input.value.trim();
    if (query === '') replace(this.#hits);
    else this.#timer = setTimeout(() => this.#actions.search(query), TYPING_PAUSE);
  }

  #line(hit: Hit): HTMLElement {
    const act = (): void => this.#actions.reveal(hit.messageId);
    return h('li', {}, button('.hit', {}, act, h('span.place', {}, `${numberOf(hit.index)} ${this.#actions.speaker(hit)}`), h('span.snippet', {}, ...markHits(hit.snippet))));
  }
}

/** Returns how many messages were found, and what the server notes of them. More may match than are listed. */
function countWords({ hits, full, note }: HostMessageOf<'hits'>): string {
  if (hits.length === 0) return `${l10n.t('Nothing found.')} ${note}`.trim();
  const found = full ? l10n.t('The best {0} are listed.', hits.length) : l10n.t('{0} found.', hits.length);
  return `${found} ${note}`.trim();
}

/** Marks the matches, which the server puts in `**`. */
export function markHits(snippet: string): (HTMLElement | string)[] {
  return snippet.split('**').map((text, i) => (i % 2 === 1 ? h('mark', {}, text) : text));
}
