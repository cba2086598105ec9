/**
 * The prompts of this window: the one being answered, the waiting ones, and each answer as far as it is written. The
 * server answers the prompts of a session one after another, so the first prompt without an answer is the running one.
 */
import * as vscode from 'vscode';

import { errorKind, errorText, isCancelled, isLost } from './errors';
import { SessionPrompt, type Prompting, type SessionNotification, type TurnEnd } from './protocol.gen';
import type { Sessions } from './sessions';
import type { Call, Piece } from './view/messages';
import { changed, extend, type Speech } from './view/speech';

/** A prompt that was sent. `taken` means that the prompt is in the transcript. */
interface Waiting {
  readonly id: number;
  readonly text: string;
  readonly source: vscode.CancellationTokenSource;
  taken: boolean;
}

/** How a prompt ended: the server's reason, or its error. */
export type PromptEnd = { readonly sessionId: string; readonly reason: TurnEnd } | { readonly sessionId: string; readonly failure: Failure };

/** A prompt that failed. It can be sent again: the server appends it only if it is not there yet. */
export interface Failure {
  readonly text: string;
  readonly error: string;
  /** The server's kind of the error, or undefined. */
  readonly kind: string | undefined;
  /** Whether the server ended before it answered. */
  readonly lost: boolean;
  /** Whether the prompt is in the transcript. */
  readonly taken: boolean;
}

/** A new piece of a session's answer. */
export type Said = { readonly sessionId: string; readonly piece: Piece } | { readonly sessionId: string; readonly call: Call };

/** The packages for asking models, which the extension's own server begins without. */
export interface ModelPackages {
  /** Whether they are not there, and can be fetched. */
  readonly areFetchable: boolean;
  /** Fetches them and starts the server with them. The user can cancel. Throws an Error for the user. */
  fetch(): Promise<void>;
}

interface Turn {
  readonly waiting: Waiting[];
  readonly speeches: Map<string, Speech>;
  readonly calls: Map<string, Call>;
}

export class Chat implements vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<string>();
  readonly #said = new vscode.EventEmitter<Said>();
  readonly #ended = new vscode.EventEmitter<PromptEnd>();
  /** Fires with the id of a session whose prompts changed. */
  readonly onDidChange = this.#changed.event;
  readonly onDidSay = this.#said.event;
  readonly onDidEnd = this.#ended.event;

  readonly #sessions: Sessions;
  readonly #cancel: (sessionId: string) => Promise<void>;
  readonly #packages: ModelPackages;
  readonly #subscription: vscode.Disposable;
  readonly #turns = new Map<string, Turn>();
  readonly #failures = new Map<string, Failure>();
  #last = 0;

  /** `cancel` stops the running work of a session. */
  constructor(sessions: Sessions, cancel: (sessionId: string) => Promise<void>, packages: ModelPackages) {
    this.#sessions = sessions;
    this.#cancel = cancel;
    this.#packages = packages;
    this.#subscription = sessions.onDidUpdate((note) => { this.#take(note); });
  }

  dispose(): void {
    for (const { waiting } of this.#turns.values()) for (const { source } of waiting) source.dispose();
    vscode.Disposable.from(this.#subscription, this.#changed, this.#said, this.#ended).dispose();
  }

  running(sessionId: string): boolean {
    return this.#turn(sessionId).waiting.length > 0;
  }

  /** The prompts that wait for the running one. */
  queued(sessionId: string): readonly { readonly id: number; readonly text: string }[] {
    return this.#turn(sessionId).waiting.slice(1).map(({ id, text }) => ({ id, text }));
  }

  /** The messages of the answer that is being written. */
  speeches(sessionId: string): readonly Speech[] {
    return [...this.#turn(sessionId).speeches.values()];
  }

  calls(sessionId: string): readonly Call[] {
    return [...this.#turn(sessionId).calls.values()];
  }

  /** The session's last prompt, if it failed and nothing was sent since. */
  failure(sessionId: string): Failure | undefined {
    return this.#failures.get(sessionId);
  }

  /** Returns why the model cannot be asked, or null if it can. Packages that can be fetched are fetched with the first prompt. */
  remedy(prompting: Prompting): string | null {
    return prompting.provider !== null || this.#mustFetch(prompting) ? null : prompting.remedy;
  }

  /** Sends the prompt again that failed. */
  async retry(sessionId: string): Promise<void> {
    const failure = this.#failures.get(sessionId);
    if (failure) await this.prompt(sessionId, failure.text);
  }

  /** Forgets that a prompt failed. */
  dismiss(sessionId: string): void {
    this.#failures.delete(sessionId);
    this.#changed.fire(sessionId);
  }

  /** Asks the model. Never throws: `onDidEnd` fires with the outcome. */
  async prompt(sessionId: string, text: string): Promise<void> {
    this.#failures.delete(sessionId);
    const waiting: Waiting = { id: ++this.#last, text, source: new vscode.CancellationTokenSource(), taken: false };
    this.#turn(sessionId).waiting.push(waiting);
    this.#changed.fire(sessionId);
    const end = await this.#ask(sessionId, waiting);
    const turn = this.#turn(sessionId);
    turn.waiting.splice(turn.waiting.indexOf(waiting), 1);
    const failure = 'failure' in end ? end.failure : undefined;
    if (failure) this.#failures.set(sessionId, failure);
    // What a lost server had said is in no transcript. It stays in sight until the next answer.
    if (turn.waiting.length === 0 && !failure?.lost) this.#turns.delete(sessionId);
    waiting.source.dispose();
    this.#changed.fire(sessionId);
    this.#ended.fire(end);
  }

  /**
   * Stops the running work of a session. If that is an answer, its written text stays, and the next prompt starts. A
   * prompt that the server does not have yet, for example because it is starting, is cancelled.
   */
  async stop(sessionId: string): Promise<void> {
    const [first] = this.#turn(sessionId).waiting;
    if (first && !first.taken) first.source.cancel();
    await this.#cancel(sessionId);
  }

  /** Cancels a waiting prompt. */
  withdraw(sessionId: string, id: number): void {
    this.#turn(sessionId).waiting.find((each) => each.id === id)?.source.cancel();
  }

  async #ask(sessionId: string, waiting: Waiting): Promise<PromptEnd> {
    try {
      const { prompting } = this.#sessions;
      if (prompting && this.#mustFetch(prompting)) await this.#packages.fetch();
      if (waiting.source.token.isCancellationRequested) throw new vscode.CancellationError();
      const prompt = [{ type: 'text', text: waiting.text }];
      const { stopReason } = await this.#sessions.request(SessionPrompt, { sessionId, prompt }, waiting.source.token);
      return { sessionId, reason: stopReason };
    } catch (error) {
      if (isCancelled(error)) return { sessionId, reason: 'cancelled' };
      const { text, taken } = waiting;
      return { sessionId, failure: { text, taken, error: errorText(error), kind: errorKind(error), lost: isLost(error) } };
    }
  }

  #mustFetch({ provider, lacksPackage }: Prompting): boolean {
    return provider === null && lacksPackage && this.#packages.areFetchable;
  }

  #take({ sessionId, update }: SessionNotification): void {
    switch (update.sessionUpdate) {
      case 'user_message_chunk':
        this.#begin(sessionId);
        this.#say(sessionId, { id: update.messageId, role: 'user', kind: 'text', text: update.content.text });
        return;
      case 'agent_message_chunk':
        this.#say(sessionId, { id: update.messageId, role: 'assistant', kind: 'text', text: update.content.text });
        return;
      case 'agent_thought_chunk':
        this.#say(sessionId, { id: update.messageId, role: 'assistant', kind: 'thinking', text: update.content.text });
        return;
      case 'tool_call':
      case 'tool_call_update': {
        const { calls } = this.#turn(sessionId);
        const call = changed(calls.get(update.toolCallId), { id: update.toolCallId, status: update.status, title: update.title });
        calls.set(call.id, call);
        this.#said.fire({ sessionId, call });
        return;
      }
      default:
        return;
    }
  }

  /** Starts a turn when its prompt is in the transcript. The earlier messages are in the transcript by then, too. */
  #begin(sessionId: string): void {
    const { waiting, speeches, calls } = this.#turn(sessionId);
    speeches.clear();
    calls.clear();
    if (waiting[0]) waiting[0].taken = true;
  }

  #say(sessionId: string, piece: Piece): void {
    const { speeches } = this.#turn(sessionId);
    speeches.set(piece.id, extend(speeches.get(piece.id), piece));
    this.#said.fire({ sessionId, piece });
  }

  #turn(sessionId: string): Turn {
    let turn = this.#turns.get(sessionId);
    if (!turn) this.#turns.set(sessionId, (turn = { waiting: [], speeches: new Map(), calls: new Map() }));
    return turn;
  }
}
