/** What is said of a prompt that failed, next to the prompt box: why, and buttons that may help. */
import * as l10n from '@vscode/l10n';

import type { CommandName, HostMessageOf } from '../messages';
import { commandButton } from './commands';
import { button, h, replace } from './dom';
import { icon } from './icons';

export interface FailureActions {
  retry(): void;
  dismiss(): void;
  run(name: CommandName): void;
}

export class FailureCard {
  readonly element = h('section.failure', { hidden: true, role: 'alert' });
  readonly #actions: FailureActions;

  constructor(actions: FailureActions) {
    this.#actions = actions;
  }

  show({ failure }: HostMessageOf<'failed'>): void {
    const shown = this.element.querySelector('.failure-words')?.textContent;
    this.element.hidden = failure === null;
    if (!failure || (shown === failure.error && this.element.childElementCount > 0)) return;
    const close = button('.quiet', { title: l10n.t('Dismiss'), 'aria-label': l10n.t('Dismiss') }, () => this.#actions.dismiss(), icon('close'));
    replace(
      this.element,
      h('div.failure-line', {}, h('p.failure-words', {}, failure.error), close),
      h(
        'div.actions',
        {},
        failure.retry && button('.action.primary.retry', {}, () => this.#actions.retry(), l10n.t('Retry')),
        ...failure.actions.map((name) => commandButton('.action', name, (run) => this.#actions.run(run))),
      ),
    );
  }
}
