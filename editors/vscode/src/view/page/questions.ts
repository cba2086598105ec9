/**
 * The questions before tool calls, as a card over the prompt box. The focus stays in the box: while it is empty the keys
 * 1, 2 and 3 answer. Nothing is permitted by closing the view or by doing nothing.
 */
import * as l10n from '@vscode/l10n';

import type { Question } from '../messages';
import { button, h, replace } from './dom';

/** Milliseconds in which a digit that was being typed when the card appeared is not an answer. */
const SETTLE = 700;

export interface QuestionActions {
  answer(id: number, optionId: string): void;
  announce(words: string): void;
}

export class Questions {
  readonly element = h('section.questions', { hidden: true, 'aria-label': l10n.t('The model asks') });
  readonly #actions: QuestionActions;
  #question: Question | undefined;
  #shownAt = 0;

  constructor(actions: QuestionActions) {
    this.#actions = actions;
    this.element.addEventListener('keydown', (event) => {
      if (this.key(event.key)) event.preventDefault();
    });
  }

  /** Shows the oldest question, and how many wait after it. */
  show(questions: readonly Question[]): void {
    const [question] = questions;
    this.element.hidden = question === undefined;
    if (!question) {
      this.#question = undefined;
      return;
    }
    if (question.id !== this.#question?.id) {
      this.#shownAt = performance.now();
      this.#actions.announce(l10n.t('The model asks: {0}? {1}', question.title, question.options.map(({ name }, at) => `${at + 1}: ${name}`).join(', ')));
    }
    this.#question = question;
    const more = questions.length > 1 ? ` (${l10n.t('{0} more', questions.length - 1)})` : '';
    replace(
      this.element,
      h('p.question-title', {}, h('strong', {}, `${question.title}?`), more),
      question.detail !== '' && h('code.question-detail', {}, question.detail),
      h('div.actions', {}, ...question.options.map((option, at) => this.#drawOption(question, option, at))),
    );
  }

  /** Answers with the option of a digit. Returns whether the key was an answer. */
  key(key: string): boolean {
    const question = this.#question;
    const option = /^[1-9]$/.test(key) ? question?.options[Number(key) - 1] : undefined;
    if (!question || !option || performance.now() - this.#shownAt < SETTLE) return false;
    this.#actions.answer(question.id, option.optionId);
    return true;
  }

  #drawOption(question: Question, { optionId, name }: Question['options'][number], at: number): HTMLElement {
    return button('.action', {}, () => this.#actions.answer(question.id, optionId), h('kbd', {}, String(at + 1)), ' ', name);
  }
}
