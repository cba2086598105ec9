/**
 * The models that VS Code offers, of Copilot or any other extension: the server asks them through the editor, without a
 * key. They are not looked for before the user chooses one, because that may start the extensions that have them.
 */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import { errorText } from './errors';
import {
  ModelsOffer,
  ModelsPiece,
  type CompleteParams,
  type CompleteResult,
  type CompletionFault,
  type CountParams,
  type CountResult,
  type NotificationMethod,
  type SpokenMessage,
} from './protocol.gen';

/** Before VS Code's own name of a model in a session or a setting. */
export const EDITOR = 'editor/';
const CHOSEN = 'ullage.editorModels';
/** The names of the models that were offered last, by id: sessions show them before the models are looked for again. */
const NAMES = 'ullage.editorModelNames';

/** By the codes of `LanguageModelError`. */
const FAULTS: Readonly<Record<string, CompletionFault>> = { NoPermissions: 'no_permission', Blocked: 'blocked', NotFound: 'not_found' };

/** The functions of the connection that are used here. */
export interface ModelDoor {
  notify<P>(method: NotificationMethod<P>, params: NoInfer<P>): Promise<void>;
}

export class EditorModels implements vscode.Disposable {
  /** Whether this VS Code has models at all; editors made from it may not. */
  static get areThere(): boolean {
    return typeof (vscode as Partial<typeof vscode>).lm?.selectChatModels === 'function';
  }

  readonly #memory: vscode.Memento;
  readonly #subscription: vscode.Disposable | undefined;
  #door: ModelDoor | undefined;

  constructor(memory: vscode.Memento) {
    this.#memory = memory;
    this.#subscription = EditorModels.areThere ? vscode.lm.onDidChangeChatModels(() => { void this.#offerChosen(); }) : undefined;
  }

  dispose(): void {
    this.#subscription?.dispose();
  }

  /** Tells a server that has just started which models there are, if the user has ever chosen one. */
  async serve(door: ModelDoor): Promise<void> {
    this.#door = door;
    await this.#offerChosen();
  }

  /** Returns the models of this VS Code, and tells the server about them from now on. */
  async choose(): Promise<readonly vscode.LanguageModelChat[]> {
    if (!EditorModels.areThere) return [];
    await this.#memory.update(CHOSEN, true);
    return this.#offer();
  }

  /** Has a model answer, and sends the answer piece by piece. Never throws. */
  async complete({ requestId, model, messages }: CompleteParams, token: vscode.CancellationToken): Promise<CompleteResult> {
    let pieces = 0;
    try {
      const found = await find(model);
      if (!found) return { pieces, fault: 'not_found' };
      const justification = l10n.t('Ullage has it summarize a conversation, so that the conversation fits its context window.');
      const response = await found.sendRequest(messages.map(asSpoken), { justification }, token);
      for await (const text of response.text) {
        if (text === '') continue;
        pieces += 1;
        await this.#door?.notify(ModelsPiece, { requestId, text });
      }
      return { pieces };
    } catch (error) {
      return { pieces, ...fault(error) };
    }
  }

  /** Returns what a model makes of a prompt in tokens, by its own count, or null if it cannot count. Never throws. */
  async count({ model, messages }: CountParams, token: vscode.CancellationToken): Promise<CountResult> {
    try {
      const found = await find(model);
      if (!found) return { tokens: null };
      const counts = await Promise.all(messages.map((message) => found.countTokens(asSpoken(message), token)));
      return { tokens: counts.reduce((sum, count) => sum + count, 0) };
    } catch {
      return { tokens: null };
    }
  }

  /** Returns the name that users know a session's model by. */
  nameOf(model: string): string {
    if (!model.startsWith(EDITOR)) return model;
    const id = model.slice(EDITOR.length);
    return this.#memory.get<Record<string, string>>(NAMES, {})[id] ?? id.slice(id.indexOf('/') + 1);
  }

  async #offerChosen(): Promise<void> {
    if (EditorModels.areThere && this.#memory.get<boolean>(CHOSEN, false)) await this.#offer();
  }

  async #offer(): Promise<readonly vscode.LanguageModelChat[]> {
    const models = await vscode.lm.selectChatModels();
    const offered = models.map((each) => ({ id: idOf(each), name: each.name, maxInputTokens: Math.max(1, each.maxInputTokens) }));
    await this.#memory.update(NAMES, Object.fromEntries(offered.map(({ id, name }) => [id, name])));
    await this.#door?.notify(ModelsOffer, { editor: vscode.env.appName, models: offered });
    return models;
  }
}

/** Returns a model's name as the server knows it, without `editor/`. */
export function idOf({ vendor, id }: Pick<vscode.LanguageModelChat, 'vendor' | 'id'>): string {
  return `${vendor}/${id}`;
}

async function find(name: string): Promise<vscode.LanguageModelChat | undefined> {
  const at = name.indexOf('/');
  const [found] = await vscode.lm.selectChatModels({ vendor: name.slice(0, at), id: name.slice(at + 1) });
  return found;
}

function asSpoken({ role, text }: SpokenMessage): vscode.LanguageModelChatMessage {
  return role === 'assistant' ? vscode.LanguageModelChatMessage.Assistant(text) : vscode.LanguageModelChatMessage.User(text);
}

function fault(error: unknown): Pick<CompleteResult, 'fault' | 'reason'> {
  // Extensions that offer models throw errors of their own, which VS Code passes on as the cause.
  const coded = [error, error instanceof Error ? error.cause : undefined].find((one) => one instanceof vscode.LanguageModelError);
  const known = coded instanceof vscode.LanguageModelError ? FAULTS[coded.code] : undefined;
  return { fault: known ?? 'failed', reason: errorText(error) };
}
