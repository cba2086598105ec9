/** The extension's side of prompts and answers in the Context view: forwards the events of `Chat` for the shown session. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import type { Chat, Failure, PromptEnd, Said } from '../chat';
import type { Permissions, Question } from '../permissions';
import type { TurnEnd } from '../protocol.gen';
import type { CommandName, HostMessage, PageMessageOf } from './messages';

/** Messages for the ends of turns that need one. A complete answer needs none. */
const ENDS: Readonly<Record<Exclude<TurnEnd, 'end_turn'>, { readonly severity: 'info' | 'warning'; readonly text: string }>> = {
  cancelled: { severity: 'info', text: l10n.t('Stopped. What was said is kept.') },
  max_tokens: { severity: 'warning', text: l10n.t('The answer was cut off: it reached its limit of tokens. Ask to go on.') },
  max_turn_requests: { severity: 'warning', text: l10n.t('The model was stopped: it called tools again and again. Ask to go on.') },
  refusal: { severity: 'warning', text: l10n.t('The model refused to answer.') },
};

/** What helps against an error that is not gone when the prompt is sent again. */
const REMEDIES: Readonly<Record<string, readonly CommandName[]>> = {
  AuthenticationFailed: ['setKey', 'chooseModel'],
  NoModelConfigured: ['chooseModel', 'setKey'],
  RateLimited: ['chooseModel'],
  RequestRefused: ['chooseModel'],
  SdkMissing: ['log'],
  CannotFit: ['compact'],
  ContextTooLong: ['compact'],
};

export interface ChatHostOptions {
  readonly chat: Chat;
  readonly permissions: Permissions;
  readonly sessionId: () => string | undefined;
  readonly post: (message: HostMessage) => void;
  /** Called when an answer ended and is in the transcript. */
  readonly ended: () => void;
}

export class ChatHost implements vscode.Disposable {
  readonly #options: ChatHostOptions;
  readonly #subscription: vscode.Disposable;

  constructor(options: ChatHostOptions) {
    const { chat, permissions } = options;
    this.#options = options;
    this.#subscription = vscode.Disposable.from(
      permissions.onDidChange(() => { this.#showQuestions(); }),
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
    this.#showQuestions();
    const { chat, post } = this.#options;
    post({ type: 'live', speeches: chat.speeches(sessionId), calls: chat.calls(sessionId) });
  }

  answer(message: PageMessageOf<'prompt' | 'stop' | 'withdraw' | 'permit' | 'retry' | 'dismiss'>): void {
    const sessionId = this.#options.sessionId();
    if (sessionId === undefined) return;
    const { chat, permissions } = this.#options;
    switch (message.type) {
      case 'prompt':
        void chat.prompt(sessionId, message.text);
        return;
      case 'stop':
        void chat.stop(sessionId);
        return;
      case 'withdraw':
        chat.withdraw(sessionId, message.id);
        return;
      case 'permit':
        permissions.answer(message.id, message.optionId);
        return;
      case 'retry':
        void chat.retry(sessionId);
        return;
      case 'dismiss':
        chat.dismiss(sessionId);
        return;
    }
  }

  #showQuestions(): void {
    const { permissions, post, sessionId } = this.#options;
    post({ type: 'questions', questions: permissions.waiting(sessionId() ?? '').map(toQuestion) });
  }

  #showTurn(sessionId: string): void {
    const { chat, post } = this.#options;
    post({ type: 'turn', running: chat.running(sessionId), queued: chat.queued(sessionId) });
    const failure = chat.failure(sessionId);
    post({ type: 'failed', failure: failure ? toFailed(failure) : null });
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
    if ('failure' in end) {
      if (!end.failure.taken) post({ type: 'unsent', text: end.failure.text });
    } else if (end.reason !== 'end_turn') {
      post({ type: 'notice', ...ENDS[end.reason], editId: null });
    }
  }
}

function toFailed({ text, error, kind, lost }: Failure) {
  const words = lost ? l10n.t('{0} What it had said stays here until the next answer.', error) : error;
  return { text, error: words, retry: true, actions: REMEDIES[kind ?? ''] ?? [] };
}

function toQuestion({ id, params: { toolCall, options } }: Question) {
  const places = toolCall.locations.map(({ path, line }) => (line === undefined ? path : `${path}:${line}`));
  const named = places.length > 0 ? places.join(', ') : JSON.stringify(toolCall.rawInput ?? {});
  const detail = toolCall.title.includes(named) ? '' : named;
  return { id, title: toolCall.title, detail, options: options.map(({ optionId, name }) => ({ optionId, name })) };
}
