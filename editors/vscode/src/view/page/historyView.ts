/** The history of edits, newest first: the effect of each, and undo for those in force. */
import * as l10n from '@vscode/l10n';

import { short, triggerWord } from '../../figures';
import type { EditLine } from '../messages';
import { age } from './ages';
import { button, h, icon, replace } from './dom';
import { editWord } from './words';

export interface HistoryActions {
  /** Brings a compaction's marker, which has the undo button, into view. */
  reveal(markerId: string): void;
  undo(editId: string): void;
}

export class HistoryView {
  readonly element = h('section.panel.history', { hidden: true, 'aria-label': l10n.t('History of compactions') });
  readonly #actions: HistoryActions;
  #edits: readonly EditLine[] = [];
  /** The edit whose undo waits for the user's confirmation. */
  #asking: string | undefined;

  constructor(actions: HistoryActions) {
    this.#actions = actions;
  }

  show(edits: readonly EditLine[]): void {
    this.#edits = edits;
    this.#asking = undefined;
    this.#draw();
  }

  #draw(): void {
    const lines = this.#edits.toReversed().map((edit) => this.#line(edit));
    const body = lines.length > 0 ? h('ul', {}, ...lines) : h('p.empty-words', {}, l10n.t('Nothing was compacted or cleared yet.'));
    replace(this.element, h('h2', {}, l10n.t('History')), body);
  }

  #line(edit: EditLine): HTMLElement {
    const saved = edit.tokensSaved > 0 ? ` · ${l10n.t('saved {0}', short(edit.tokensSaved))}` : '';
    return h(
      `li.edit${edit.reverted ? '.reverted' : ''}`,
      {},
      h('div.edit-words', {}, h('span.edit-kind', {}, editWord(edit)), h('span.note', {}, age(edit.timestamp), ` · ${triggerWord(edit.trigger)}${saved}`)),
      ...(edit.reverted ? [h('span.badge', {}, l10n.t('undone'))] : this.#buttons(edit)),
    );
  }

  #buttons(edit: EditLine): HTMLElement[] {
    if (edit.kind === 'compaction') {
      return [button('.action', {}, () => this.#actions.reveal(`${edit.id}-marker`), icon('marker'), l10n.t('Show'))];
    }
    if (this.#asking !== edit.id) return [button('.action', {}, () => this.#ask(edit.id), icon('undo'), l10n.t('Undo…'))];
    const words = l10n.t('Bring {0} back', short(Math.max(0, edit.tokensSaved)));
    return [button('.action.primary.confirm-undo', {}, () => this.#actions.undo(edit.id), icon('undo'), words)];
  }

  #ask(id: string): void {
    this.#asking = id;
    this.#draw();
    this.element.querySelector<HTMLElement>('.confirm-undo')?.focus();
  }
}
