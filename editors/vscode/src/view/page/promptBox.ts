/**
 * The prompt box: the typed prompt, the waiting prompts, and Stop while an answer is written. Without a model it says
 * what to do about it. The arrow keys bring back earlier prompts when the cursor would leave the text.
 */
import * as l10n from '@vscode/l10n';

import type { HostMessageOf } from '../messages';
import { button, h, replace, setAttribute, setText } from './dom';
import { icon } from './icons';
import type { PromptKept } from './kept';

export interface PromptActions {
  ask(text: string): void;
  stop(): void;
  withdraw(id: number): void;
  /** Lets the user set a key, if there is no model. */
  setKey(): void;
  chooseModel(): void;
  /** Offers a key that is pressed in the empty box. Returns whether it was an answer to a question. */
  press(key: string): boolean;
  /** Called when the typed text or the history changed, so that it can be kept. */
  changed(): void;
}

/** The most earlier prompts that are kept. */
const HISTORY = 50;

export class PromptBox {
  readonly element: HTMLElement;
  readonly #actions: PromptActions;
  readonly #input = h('textarea.prompt-input', { rows: 1, placeholder: l10n.t('Ask…'), 'aria-label': l10n.t('Ask the model'), 'aria-describedby': 'no-model prompt-keys' });
  readonly #send: HTMLButtonElement;
  readonly #stop: HTMLButtonElement;
  readonly #words = h('span.no-model-words', { id: 'no-model' });
  readonly #noModel: HTMLElement;
  readonly #line: HTMLElement;
  readonly #waiting = h('ul.waiting', { hidden: true, 'aria-label': l10n.t('Prompts that wait') });
  readonly #answering = h('p.answering', { hidden: true }, h('span.spinner'), l10n.t('answering…'));
  #history: string[] = [];
  /** How far back in the history the text comes from; 0 is the typed text. */
  #back = 0;
  #typed = '';
  #running = false;
  #connected = true;
  #remedy: string | null = '';

  constructor(actions: PromptActions) {
    this.#actions = actions;
    this.#send = button('.send', { title: l10n.t('Send (Enter)'), 'aria-label': l10n.t('Send') }, () => this.#submit(), icon('send'));
    this.#stop = button('.stop', { title: l10n.t('Stop the answer (Escape)'), 'aria-label': l10n.t('Stop the answer'), hidden: true }, () => this.#end(), icon('stop'));
    const keys = h('span.announcer', { id: 'prompt-keys' }, l10n.t('Enter sends, Shift and Enter begin a line, the arrows bring earlier prompts back.'));
    const setKey = button('.link', {}, () => this.#actions.setKey(), l10n.t('Set a key…'));
    const choose = button('.link', {}, () => this.#actions.chooseModel(), l10n.t('Choose one…'));
    const how = h('details.how', {}, h('summary', {}, l10n.t('Other ways')), this.#words);
    this.#noModel = h('div.no-model', { hidden: true }, l10n.t('Asking needs a model.'), ' ', choose, ' ', setKey, ' ', how);
    this.#line = h('div.prompt-line', {}, this.#input, this.#stop, this.#send);
    this.element = h('footer.prompt', {}, this.#answering, this.#waiting, this.#noModel, this.#line, keys);
    this.#input.addEventListener('keydown', (event) => this.#keydown(event));
    this.#input.addEventListener('input', () => this.#edited());
    this.enable('');
  }

  get kept(): PromptKept {
    return { draft: this.#back === 0 ? this.#input.value : this.#typed, history: this.#history };
  }

  /** Restores the typed text and the earlier prompts. */
  restore({ draft, history }: PromptKept): void {
    this.#history = [...history];
    this.#back = 0;
    this.#write(draft);
  }

  /** `remedy` says why the model cannot be asked, or is null if it can; it is empty until that is known. */
  enable(remedy: string | null): void {
    this.#remedy = remedy;
    setText(this.#words, remedy ?? '');
    this.#noModel.hidden = !remedy;
    this.#line.hidden = !this.#noModel.hidden;
    this.#able();
  }

  /** Whether the server runs, without which nothing can be asked. */
  connect(running: boolean): void {
    this.#connected = running;
    this.#able();
  }

  /** Focuses the box. Returns whether it can be typed in. */
  focus(): boolean {
    if (this.#input.disabled || this.#line.hidden) return false;
    this.#input.focus();
    return true;
  }

  #able(): void {
    this.#input.disabled = this.#remedy !== null || !this.#connected;
    this.#send.disabled = this.#input.disabled;
    setAttribute(this.#input, 'placeholder', this.#connected ? l10n.t('Ask…') : l10n.t('The server does not run'));
  }

  show({ running, queued }: HostMessageOf<'turn'>): void {
    this.#running = running;
    // A button that is hidden while it has the focus would lose the focus.
    if (!running && document.activeElement === this.#stop) this.#input.focus();
    this.#stop.hidden = !running;
    this.#answering.hidden = !running;
    const words = running ? l10n.t('Send when this answer has ended (Enter)') : l10n.t('Send (Enter)');
    setAttribute(this.#send, 'title', words);
    setAttribute(this.#send, 'aria-label', running ? l10n.t('Send when this answer has ended') : l10n.t('Send'));
    this.#waiting.hidden = queued.length === 0;
    replace(this.#waiting, ...queued.map(({ id, text }) => this.#drawWaiting(id, text)));
  }

  /** Brings back a prompt that did not reach the model, unless the user is typing another. */
  giveBack(text: string): void {
    if (this.#input.value === '') this.#write(text);
  }

  /** Takes back what `giveBack` brought, because it is sent again. */
  take(text: string): void {
    if (this.#input.value === text) this.#write('');
  }

  #drawWaiting(id: number, text: string): HTMLElement {
    const label = l10n.t('Take back: {0}', text.slice(0, 80));
    return h('li', {}, h('span.badge', {}, l10n.t('waits')), h('span.waiting-text', { title: text }, text), button('.quiet', { title: l10n.t('Take back'), 'aria-label': label }, () => this.#actions.withdraw(id), icon('close')));
  }

  #keydown(event: KeyboardEvent): void {
    if (event.isComposing || event.altKey || event.ctrlKey || event.metaKey) return;
    if (this.#input.value === '' && this.#actions.press(event.key)) {
      event.preventDefault();
      return;
    }
    switch (event.key) {
      case 'Enter':
        if (event.shiftKey) return;
        event.preventDefault();
        this.#submit();
        return;
      case 'Escape':
        if (this.#running) this.#end();
        return;
      case 'ArrowUp':
        if (!event.shiftKey && this.#onFirstLine && this.#recall(1)) event.preventDefault();
        return;
      case 'ArrowDown':
        if (!event.shiftKey && this.#onLastLine && this.#recall(-1)) event.preventDefault();
        return;
    }
  }

  get #onFirstLine(): boolean {
    return !this.#input.value.slice(0, this.#input.selectionStart).includes('\n');
  }

  get #onLastLine(): boolean {
    return !this.#input.value.slice(this.#input.selectionEnd).includes('\n');
  }

  /** Goes back or forth in the history. Returns false at its end. */
  #recall(by: 1 | -1): boolean {
    const back = this.#back + by;
    const text = back === 0 ? this.#typed : this.#history[this.#history.length - back];
    if (back < 0 || text === undefined) return false;
    if (this.#back === 0) this.#typed = this.#input.value;
    this.#back = back;
    this.#write(text);
    return true;
  }

  #edited(): void {
    this.#back = 0;
    this.#grow();
    this.#actions.changed();
  }

  #write(text: string): void {
    this.#input.value = text;
    this.#input.setSelectionRange(text.length, text.length);
    this.#grow();
  }

  /** Sizes the box by its contents, for browsers that do not. */
  #grow(): void {
    setAttribute(this.#input, 'rows', Math.min(8, this.#input.value.split('\n').length));
  }

  #submit(): void {
    const text = this.#input.value.trim();
    if (text === '' || this.#input.disabled) return;
    this.#actions.ask(text);
    this.#history = [...this.#history.filter((other) => other !== text), text].slice(-HISTORY);
    this.#typed = '';
    this.#back = 0;
    this.#write('');
    this.#actions.changed();
  }

  #end(): void {
    this.#actions.stop();
  }
}
