/** The extension's side of prompts and answers in the Context view: forwards the events of `Chat` for the shown session. */
import * as vscode from 'vscode';

import type { Chat, PromptEnd, Said } from '../chat';
import type { TurnEnd } from '../protocol.gen';
import type { HostMessage, PageMessageOf } from './messages';

/** Messages for the ends of turns that need one. A complete answer needs none. */
const ENDS: Readonly<Record<Exclude<TurnEnd, 'end_turn'>, { readonly severity: 'info' | 'warning'; readonly text: string }>> = {
  cancelled: { severity: 'info', text: 'Stopped. What was said is kept.' },
  max_tokens: { severity: 'warning', text: 'The answer was cut off: it reached its limit of tokens. Ask to go on.' },
  max_turn_requests: { severity: 'warning', text: 'The model was stopped: it called tools again and again. Ask to go on.' },
  refusal: { severity: 'warning', text: 'The model refused to answer.' },
};

export interface ChatHostOptions {
  readonly chat: Chat;
  readonly sessionId: () => string | undefined;
  readonly post: (message: HostMessage) => void;
  /** Called when an answer ended and is in the transcript. */
  readonly ended: () => void;
}

export class ChatHost implements vscode.Disposable {
  readonly #options: ChatHostOptions;
  readonly #subscription: vscode.Disposable;

  constructor(options: ChatHostOptions) {
    const { chat } = options;
    this.#options = options;
    this.#subscription = vscode.Disposable.from(
      chat.onDidChange((sessionId) => { if (sessionId === options.sessionId()) this.#showTurn(sessionId); }),
      chat.onDidSay((said) => { this.#pass(said); }),
      chat.onDidEnd((end) => { this.#showEnd(end); }),
    );
  }

  dispose(): void {
    this.#subscription.dispose();
  }

  get running(): boolean {
    const sessionId = this.#options.sessionId();
    return sessionId !== undefined && this.#options.chat.running(sessionId);
  }

  /** Sends the whole state of the shown session's prompts and answers. */
  show(): void {
    const sessionId = this.#options.sessionId();
    if (sessionId === undefined) return;
    this.#showTurn(sessionId);
    const { chat, post } = this.#options;
    post({ type: 'live', speeches: chat.speeches(sessionId), calls: chat.calls(sessionId) });
  }

  answer(message: PageMessageOf<'prompt' | 'stop' | 'withdraw'>): void {
    const sessionId = this.#options.sessionId();
    if (sessionId === undefined) return;
    const { chat } = this.#options;
    if (message.type === 'prompt') void chat.prompt(sessionId, message.text);
    else if (message.type === 'stop') void chat.stop(sessionId);
    else chat.withdraw(sessionId, message.id);
  }

  #showTurn(sessionId: string): void {
    const { chat, post } = this.#options;
    post({ type: 'turn', running: chat.running(sessionId), queued: chat.queued(sessionId) });
  }

  #pass(said: Said): void {
    if (said.sessionId !== this.#options.sessionId()) return;
    if ('piece' in said) this.#options.post({ type: 'said', piece: said.piece });
    else this.#options.post({ type: 'called', call: said.call });
  }

  #showEnd(end: PromptEnd): void {
    if (end.sessionId !== this.#options.sessionId()) return;
    const { post, ended } = this.#options;
    ended();
    if ('error' in end) {
      post({ type: 'notice', severity: 'error', text: end.error, editId: null });
      if (end.unsent !== '') post({ type: 'unsent', text: end.unsent });
    } else if (end.reason !== 'end_turn') {
      post({ type: 'notice', ...ENDS[end.reason], editId: null });
    }
  }
}
