/** The line for the user at the top of the view, with a button that dismisses it. */
import * as l10n from '@vscode/l10n';

import type { EditLine, HostMessageOf } from '../messages';
import { button, h, icon } from './dom';

/** Milliseconds for which an information stays. Warnings and errors stay until dismissed. */
const NEWS = 8_000;

export class NoticeLine {
  readonly element = h('div.notice', { hidden: true });
  /** The edit that the notice is about. */
  #editId: string | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  show({ severity, text, editId }: HostMessageOf<'notice'>): void {
    const close = button('.quiet', { title: l10n.t('Dismiss'), 'aria-label': l10n.t('Dismiss') }, () => this.hide(), icon('close'));
    this.element.replaceChildren(h('span', {}, text), close);
    this.element.dataset['severity'] = severity;
    this.element.hidden = false;
    this.#editId = editId;
    clearTimeout(this.#timer);
    if (severity === 'info') this.#timer = setTimeout(() => this.hide(), NEWS);
  }

  hide(): void {
    this.element.hidden = true;
  }

  /** Hides a notice about an edit that was undone. */
  takeHistory(edits: readonly EditLine[]): void {
    if (edits.some(({ id, reverted }) => reverted && id === this.#editId)) this.hide();
  }
}
