/** The toolbar: buttons that run commands, and buttons that open panels, one at a time. */
import * as l10n from '@vscode/l10n';

import { compactWord } from '../../words';
import type { CommandName, Usage } from '../messages';
import { button, h, icon, setAttribute, type IconName } from './dom';

export interface Panel {
  readonly element: HTMLElement;
  /** Focuses the panel when it is opened. */
  focus?(): void;
}

export class Toolbar {
  readonly element = h('div.tools', { role: 'toolbar', 'aria-label': l10n.t('Context') });
  readonly #compact: HTMLElement;
  readonly #preview: HTMLElement;
  readonly #toggles = new Map<Panel, HTMLElement>();

  constructor(run: (command: CommandName) => void, history: Panel, search: Panel) {
    this.#compact = iconButton('compact', l10n.t('Compact now'), () => run('compact'));
    this.#preview = iconButton('preview', l10n.t('Preview compaction'), () => run('preview'));
    this.element.append(this.#compact, this.#preview, this.#toggle(history, 'history', l10n.t('History')), this.#toggle(search, 'search', l10n.t('Search (/)')));
  }

  show(usage: Usage): void {
    entitle(this.#compact, compactWord(usage));
    // An agent's compaction cannot be previewed.
    this.#preview.hidden = usage.followed;
  }

  open(panel: Panel): void {
    this.#setOpen(panel, true);
  }

  /** Returns a button that opens and closes a panel. Escape closes it, too. */
  #toggle(panel: Panel, image: IconName, words: string): HTMLElement {
    const element = iconButton(image, words, () => this.#setOpen(panel, panel.element.hidden !== false));
    setAttribute(element, 'aria-expanded', false);
    this.#toggles.set(panel, element);
    panel.element.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      this.#setOpen(panel, false);
      element.focus();
    });
    return element;
  }

  #setOpen(panel: Panel, open: boolean): void {
    for (const [each, toggle] of this.#toggles) {
      each.element.hidden = !(open && each === panel);
      setAttribute(toggle, 'aria-expanded', !each.element.hidden);
    }
    if (open) panel.focus?.();
  }
}

function iconButton(image: IconName, words: string, act: () => void): HTMLElement {
  const element = button('.quiet', {}, act, icon(image));
  entitle(element, words);
  return element;
}

/** Gives a button that shows only an icon its words. */
function entitle(element: HTMLElement, words: string): void {
  element.title = words;
  setAttribute(element, 'aria-label', words);
}
