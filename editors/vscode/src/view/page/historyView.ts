/** The history of edits, newest first: the effect of each, and undo for those in force. */
import { short } from '../../figures';
import type { EditLine } from '../messages';
import { age } from './ages';
import { button, h, replace } from './dom';
import { icon } from './icons';
import { editWord } from './words';

export interface HistoryActions {
  /** Brings a compaction's marker, which has the undo button, into view. */
  reveal(markerId: string): void;
  undo(editId: string): void;
}

export class HistoryView {
  readonly element = h('section.panel.history', { hidden: true, 'aria-label': 'History of compactions' });
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
    const body = lines.length > 0 ? h('ul', {}, ...lines) : h('p.empty-words', {}, 'Nothing was compacted or cleared yet.');
    replace(this.element, h('h2', {}, 'History'), body);
  }

  #line(edit: EditLine): HTMLElement {
    const saved = edit.tokensSaved > 0 ? ` · saved ${short(edit.tokensSaved)}` : '';
    return h(
      `li.edit${edit.reverted ? '.reverted' : ''}`,
      {},
      h('div.edit-words', {}, h('span.edit-kind', {}, editWord(edit)), h('span.note', {}, age(edit.timestamp), ` · ${edit.trigger}${saved}`)),
      ...(edit.reverted ? [h('span.badge', {}, 'undone')] : this.#buttons(edit)),
    );
  }

  #buttons(edit: EditLine): HTMLElement[] {
    if (edit.kind === 'compaction') {
      return [button('.action', {}, () => this.#actions.reveal(`${edit.id}-marker`), icon('marker'), 'Show')];
    }
    if (this.#asking !== edit.id) return [button('.action', {}, () => this.#ask(edit.id), icon('undo'), 'Undo…')];
    const words = `Bring ${short(Math.max(0, edit.tokensSaved))} back`;
    return [button('.action.primary.confirm-undo', {}, () => this.#actions.undo(edit.id), icon('undo'), words)];
  }

  #ask(id: string): void {
    this.#asking = id;
    this.#draw();
    this.element.querySelector<HTMLElement>('.confirm-undo')?.focus();
  }
}
