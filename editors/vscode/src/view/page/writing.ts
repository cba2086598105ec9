/** The marker that is being written: the summary so far, with Cancel. It is placed over the list, so it is always in view. */
import * as l10n from '@vscode/l10n';

import { full, messages, short } from '../../figures';
import type { HostMessageOf } from '../messages';
import { button, h, icon, replace, setText } from './dom';
import { markdown } from './markdown';

export class Writing {
  readonly element: HTMLElement;
  readonly #title = h('span.marker-title');
  readonly #written = h('span.figures');
  readonly #text = h('div.prose.writing-text', { tabindex: 0, role: 'region', 'aria-label': l10n.t('The summary so far') });
  #summary = '';
  #frame = 0;

  constructor(cancel: () => void) {
    const head = h('div.marker-head', {}, h('span.spinner'), h('div.marker-line', {}, this.#title, this.#written), button('.action.cancel', {}, cancel, icon('close'), l10n.t('Cancel')));
    this.element = h('div.writing', { hidden: true }, head, this.#text);
  }

  get running(): boolean {
    return !this.element.hidden;
  }

  begin(run: HostMessageOf<'compacting'>): void {
    this.element.hidden = false;
    this.#summary = run.summary;
    setText(this.#title, l10n.t('Compacting {0} ({1})…', messages(run.messages), short(run.before)));
    this.#draw();
  }

  add(text: string): void {
    this.#summary += text;
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#draw());
  }

  end(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.element.hidden = true;
    this.#summary = '';
    replace(this.#text);
  }

  /** Draws the summary again, because it can be drawn as Markdown now. */
  redraw(): void {
    if (this.running) this.#draw();
  }

  #draw(): void {
    this.#frame = 0;
    setText(this.#written, this.#summary === '' ? '' : l10n.t('{0} characters written', full(this.#summary.length)));
    replace(this.#text, markdown()?.renderMarkdown(this.#summary) ?? this.#summary);
    this.#text.scrollTop = this.#text.scrollHeight;
  }
}
