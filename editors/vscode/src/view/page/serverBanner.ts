/** What is said of the server, over everything, when it does not simply run. */
import * as l10n from '@vscode/l10n';

import type { CommandName, HostMessageOf } from '../messages';
import { button, h, replace } from './dom';

export class ServerBanner {
  readonly element = h('div.server', { hidden: true, role: 'status' });
  readonly #run: (name: CommandName) => void;

  constructor(run: (name: CommandName) => void) {
    this.#run = run;
  }

  /** Shows the state. The style of the whole page depends on it, so that old figures look old. */
  show({ state, text, actions }: HostMessageOf<'server'>): void {
    document.body.dataset['server'] = state;
    this.element.dataset['state'] = state;
    this.element.hidden = text === '';
    const first = state === 'down' ? '.action.primary' : '.action';
    const buttons = actions.map((name, at) => commandButton(at === 0 ? first : '.action', name, this.#run));
    replace(this.element, h('p', {}, text), h('div.actions', {}, ...buttons));
  }
}

const WORDS: Readonly<Record<CommandName, string>> = {
  compact: l10n.t('Compact now'),
  preview: l10n.t('Preview'),
  setWindow: l10n.t('Set the model’s window'),
  setUp: l10n.t('Set it up for me'),
  restart: l10n.t('Restart the server'),
  problem: l10n.t('Other ways…'),
  log: l10n.t('Show log'),
};

export function commandButton(spec: '' | `.${string}`, name: CommandName, run: (name: CommandName) => void): HTMLButtonElement {
  return button(spec, {}, () => run(name), WORDS[name]);
}
