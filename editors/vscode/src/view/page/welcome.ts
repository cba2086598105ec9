/** The view without a session: the question whether agents' conversations may be read, those that were found, and other ways to a session. */
import * as l10n from '@vscode/l10n';

import type { CommandName, Found, HostMessageOf } from '../messages';
import { age } from './ages';
import { commandButton } from './commands';
import { button, h, replace } from './dom';

export interface WelcomeActions {
  run(name: CommandName): void;
  open(path: string, run: number | null): void;
  follow(yes: boolean): void;
}

export class Welcome {
  readonly element: HTMLElement;
  readonly #actions: WelcomeActions;
  readonly #asked = h('div.asked', { hidden: true });
  readonly #found = h('div.found', { hidden: true });
  readonly #ways: HTMLElement;

  constructor(actions: WelcomeActions) {
    this.#actions = actions;
    const command = (spec: `.${string}`, name: CommandName): HTMLElement => commandButton(spec, name, (run) => actions.run(run));
    this.#ways = h('div.ways', {}, command('.wide', 'import'), command('.wide.second', 'sample'), command('.wide.second', 'new'), command('.wide.second', 'switch'));
    const words = h('p', {}, l10n.t('See how full a model’s context is, compact it, and take it back if you don’t like it.'));
    this.element = h('section.welcome', { hidden: true, 'aria-label': l10n.t('Begin') }, this.#asked, words, this.#found, this.#ways);
  }

  focus(): void {
    this.element.querySelector<HTMLElement>('button:not(:disabled)')?.focus();
  }

  /** Without a server nothing can be opened. */
  connect(running: boolean): void {
    for (const element of this.element.querySelectorAll('button')) element.disabled = !running;
  }

  receive(message: HostMessageOf<'found' | 'asked'>): void {
    if (message.type === 'asked') this.#ask(message.question);
    else this.#show(message.transcripts);
  }

  /** Shows the question over all else, or nothing for null. */
  #ask(question: string | null): void {
    this.#asked.hidden = question === null;
    const answer = (spec: `.${string}`, words: string, yes: boolean): HTMLElement => button(spec, {}, () => this.#actions.follow(yes), words);
    const answers = h('div.ways', {}, answer('.wide', l10n.t('Follow them'), true), answer('.wide.second', l10n.t('No'), false));
    replace(this.#asked, h('p', {}, question ?? ''), answers);
  }

  #show(found: readonly Found[]): void {
    const disabled = this.#ways.querySelector('button')?.disabled ?? false;
    this.#found.hidden = found.length === 0;
    const lines = found.map((one) => h('li', {}, this.#drawFound(one)));
    replace(this.#found, h('h2', {}, l10n.t('Conversations on this machine')), h('ul', {}, ...lines));
    this.connect(!disabled);
  }

  #drawFound({ path, run, title, program, folder, changedAt, here }: Found): HTMLElement {
    const facts = h('span.found-facts', {}, [program, folder].filter((word) => word !== '').join(' · '), ' · ', age(changedAt));
    return button(`.found-item${here ? '.here' : ''}`, { title: l10n.t('Open it, to read') }, () => this.#actions.open(path, run), h('span.found-title', { dir: 'auto' }, title), facts);
  }
}
