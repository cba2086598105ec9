/** The server's questions whether the model may make a tool call. The Context view shows them and gives the answers. */
import * as vscode from 'vscode';

import type { RequestPermissionParams, RequestPermissionResult } from './protocol.gen';

/** A question that waits for its answer. */
export interface Question {
  readonly id: number;
  readonly params: RequestPermissionParams;
}

export class Permissions implements vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  /** Fires when a question came or was answered. */
  readonly onDidChange = this.#changed.event;
  readonly #asked = new vscode.EventEmitter<Question>();
  readonly onDidAsk = this.#asked.event;
  readonly #waiting = new Map<number, { readonly question: Question; readonly answer: (result: RequestPermissionResult) => void }>();
  #last = 0;

  /** The questions of a session that wait, oldest first. */
  waiting(sessionId: string): readonly Question[] {
    return [...this.#waiting.values()].map(({ question }) => question).filter(({ params }) => params.sessionId === sessionId);
  }

  /** Returns the user's answer. `token` is cancelled when the turn was stopped. */
  ask(params: RequestPermissionParams, token: vscode.CancellationToken): Promise<RequestPermissionResult> {
    if (token.isCancellationRequested) return Promise.resolve(CANCELLED);
    const id = ++this.#last;
    return new Promise((resolve) => {
      const end = (result: RequestPermissionResult): void => {
        stopped.dispose();
        this.#waiting.delete(id);
        this.#changed.fire();
        resolve(result);
      };
      const stopped = token.onCancellationRequested(() => { end(CANCELLED); });
      const question = { id, params };
      this.#waiting.set(id, { question, answer: end });
      this.#changed.fire();
      this.#asked.fire(question);
    });
  }

  /** Answers a question with one of its options. Any other option is not an answer. */
  answer(id: number, optionId: string): void {
    const asked = this.#waiting.get(id);
    if (!asked?.question.params.options.some((option) => option.optionId === optionId)) return;
    asked.answer({ outcome: { outcome: 'selected', optionId } });
  }

  /** Ends all questions, because the server that asked them is gone. */
  drop(): void {
    for (const { answer } of [...this.#waiting.values()]) answer(CANCELLED);
  }

  dispose(): void {
    this.drop();
    this.#changed.dispose();
    this.#asked.dispose();
  }
}

const CANCELLED: RequestPermissionResult = { outcome: { outcome: 'cancelled' } };
