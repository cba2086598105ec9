/** The prompt box. Without a model it says what would enable it. */
import { button, h } from './dom';
import { icon } from './icons';
import { NO_MODEL } from './words';

export class PromptBox {
  readonly element: HTMLElement;
  readonly #input = h('textarea.prompt-input', { rows: 1, placeholder: 'Ask…', 'aria-label': 'Ask the model', 'aria-describedby': 'no-model' });
  readonly #send: HTMLButtonElement;
  readonly #words = h('p.no-model', { id: 'no-model' }, NO_MODEL);
  readonly #ask: (text: string) => void;

  constructor(ask: (text: string) => void) {
    this.#ask = ask;
    this.#send = button('.send', { title: 'Send (Enter)', 'aria-label': 'Send' }, () => this.#submit(), icon('send'));
    this.element = h('footer.prompt', {}, this.#words, h('div.prompt-line', {}, this.#input, this.#send));
    this.#input.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.#submit();
    });
    this.enable(false);
  }

  enable(can: boolean): void {
    this.#input.disabled = !can;
    this.#send.disabled = !can;
    this.#words.hidden = can;
  }

  #submit(): void {
    const text = this.#input.value.trim();
    if (text === '' || this.#input.disabled) return;
    this.#ask(text);
    this.#input.value = '';
  }
}
