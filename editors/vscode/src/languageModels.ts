/**
 * VS Code's language models and its chat: the tools and `@ullage`, which answer about the conversation in the open folder, and
 * the models that VS Code offers, which the server asks through the editor. A VS Code without tools or a chat lacks them.
 */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import { errorText, isCancelled } from './connection';
import {
  type CompleteParams,
  type CompleteResult,
  type CompletionFault,
  ContextCompact,
  ContextLookUp,
  ContextLost,
  type CountParams,
  type CountResult,
  type LookUpResult,
  type Method,
  ModelsOffer,
  ModelsPiece,
  type NotificationMethod,
  SessionLoad,
  type SpokenMessage,
} from './protocol.gen';
import { escapeMarkdown, figuresMarkdown } from './statusBar';
import { messages, shrinking } from './words';

/** The beginning of the tools' names in the manifest. */
const PREFIX = 'ullage_';
const TOOLS = ['search', 'open', 'context', 'lost'] as const;
type ToolName = (typeof TOOLS)[number];
export const NO_CONVERSATION =
  l10n.t("No conversation is open or followed in this folder. Ullage shows one when a coding agent runs here, or after 'Ullage: Import Transcript…'.");

/** What of the extension is used here. */
export interface Subject {
  /** The session that is meant if none is named. */
  readonly subjectId: string | undefined;
  request<P, R>(method: Method<P, R>, params: NoInfer<P>, token?: vscode.CancellationToken): Promise<R>;
}

/** The parts of VS Code 1.95 that the types of our oldest VS Code lack. */
interface ToolApi {
  readonly lm?: { registerTool?(name: string, tool: Tool): vscode.Disposable };
  readonly LanguageModelToolResult?: new (content: readonly unknown[]) => unknown;
  readonly LanguageModelTextPart?: new (text: string) => unknown;
}
interface Tool {
  prepareInvocation(): { readonly invocationMessage: string };
  invoke(options: { readonly input: object }, token: vscode.CancellationToken): Promise<unknown>;
}

/** Returns what a tool finds in the conversation of the open folder. What is wrong with the call is a text, too. */
export async function lookUp(subject: Subject, tool: ToolName, given: object, token?: vscode.CancellationToken): Promise<LookUpResult> {
  const sessionId = subject.subjectId;
  if (sessionId === undefined) return { text: NO_CONVERSATION, isError: true };
  try {
    return await subject.request(ContextLookUp, { sessionId, tool, arguments: { ...given } }, token);
  } catch (error) {
    if (isCancelled(error)) throw error;
    return { text: errorText(error), isError: true };
  }
}

/** Offers the tools to the language models of VS Code. */
export function registerTools(subject: Subject): vscode.Disposable {
  const { lm, LanguageModelToolResult: Result, LanguageModelTextPart: Text } = vscode as unknown as ToolApi;
  if (!lm?.registerTool || !Result || !Text) return vscode.Disposable.from();
  const register = lm.registerTool.bind(lm);
  return vscode.Disposable.from(...TOOLS.map((name) => register(PREFIX + name, {
    prepareInvocation: () => ({ invocationMessage: DOING[name] }),
    invoke: async ({ input }, token) => new Result([new Text((await lookUp(subject, name, input, token)).text)]),
  })));
}

const DOING: Readonly<Record<ToolName, string>> = {
  search: l10n.t("Searching the agent's conversation"),
  open: l10n.t("Reading messages of the agent's conversation"),
  context: l10n.t("Reading how full the agent's context is"),
  lost: l10n.t("Reading what the agent's last compaction left out"),
};

const ID = 'ullage.chat';
const USAGE = l10n.t('Ask for `/context` (how full it is), `/search` and words, `/lost` (what the last compaction left out), `/brief` (the text that gives it back) or `/compact`. A question without a command is searched for.');

/** What of the extension is used here. */
export interface ChatSubject extends Subject {
  /** Whether an agent has the conversation, so that Ullage only reads it. */
  readonly isFollowed: boolean;
  /** Returns a model's name as users know it. */
  nameOf(model: string): string;
  /** Does work that compacts a session. No message says what the chat says of it. */
  telling<R>(sessionId: string, work: () => Promise<R>): Promise<R>;
}

/** Registers the participant, if this VS Code has a chat. */
export function registerParticipant(subject: ChatSubject, icon: vscode.Uri): { dispose(): unknown } {
  if (typeof (vscode as Partial<typeof vscode>).chat?.createChatParticipant !== 'function') return vscode.Disposable.from();
  const participant = vscode.chat.createChatParticipant(ID, (request, _, stream, token) => answer(subject, request, stream, token));
  participant.iconPath = icon;
  return participant;
}

type Asked = Pick<vscode.ChatRequest, 'command' | 'prompt'>;
type Stream = Pick<vscode.ChatResponseStream, 'markdown' | 'button' | 'progress'>;

/** Answers one request of the user. Failures are a part of the answer. */
export async function answer(subject: ChatSubject, { command, prompt }: Asked, stream: Stream, token: vscode.CancellationToken): Promise<void> {
  const words = prompt.trim();
  switch (command) {
    case 'context':
      return context(subject, stream, token);
    case 'lost':
      stream.markdown(asRead((await lookUp(subject, command, {}, token)).text));
      stream.button(SEARCH);
      return;
    case 'brief':
      return brief(subject, stream, token);
    case 'compact':
      return compact(subject, words, stream, token);
    default:
      if (words === '') {
        stream.markdown(USAGE);
        return;
      }
      stream.markdown(asRead((await lookUp(subject, 'search', { query: words.slice(0, LONGEST_QUERY) }, token)).text));
      stream.button(SEARCH);
  }
}

/** The longest query that the server takes. */
const LONGEST_QUERY = 1_000;
const SHOW = { command: 'ullage.showContext', title: l10n.t('Show Context') };
const SEARCH = { command: 'ullage.searchArchive', title: l10n.t('Search…') };

async function context(subject: ChatSubject, stream: Stream, token: vscode.CancellationToken): Promise<void> {
  const sessionId = subject.subjectId;
  if (sessionId === undefined) {
    stream.markdown(NO_CONVERSATION);
    return;
  }
  const { title, usage: { used, size, cost, _meta: { ullage: meta } } } = await subject.request(SessionLoad, { sessionId }, token);
  const now = Date.now();
  stream.markdown(figuresMarkdown({ sessionId, title, used, size, cost, meta, modelName: subject.nameOf(meta.model), at: now }, now));
  stream.button(SHOW);
}

async function brief(subject: ChatSubject, stream: Stream, token: vscode.CancellationToken): Promise<void> {
  const sessionId = subject.subjectId;
  const found = sessionId === undefined ? undefined : await subject.request(ContextLost, { sessionId, limit: 1 }, token);
  if (found?.brief) stream.markdown(asRead(found.brief));
  else stream.markdown(found?.readable === false ? l10n.t('The summary of the last compaction is encrypted, so what it leaves out is not known.') : l10n.t('There is nothing to give back: no compaction is in force, or its summary leaves nothing out that Ullage looks for.'));
}

async function compact(subject: ChatSubject, focus: string, stream: Stream, token: vscode.CancellationToken): Promise<void> {
  const sessionId = subject.subjectId;
  if (sessionId === undefined || subject.isFollowed) {
    stream.markdown(sessionId === undefined ? l10n.t('No conversation is open.') : l10n.t('An agent has this conversation, and Ullage only reads it.'));
    stream.button({ command: 'ullage.compactContext', title: l10n.t('What is possible…') });
    return;
  }
  stream.progress(l10n.t('Compacting'));
  const params = { sessionId, ...(focus === '' ? {} : { focus }) };
  const done = await subject.telling(sessionId, () => subject.request(ContextCompact, params, token));
  stream.markdown(l10n.t('Compacted {0}: {1}. Everything is kept; undo any time.', messages(done.messagesArchived), shrinking(done.contextSizeBefore, done.contextSizeAfter)));
  stream.button({ command: 'ullage.undoCompaction', title: l10n.t('Undo…') });
  stream.button(SHOW);
}

/** A line of the server's texts: a quotation, an item of a list, or a sentence. */
const LINE = /^(> ?|- )?( *)(.*)$/s;

/**
 * Returns a text of the server as Markdown whose lines wrap. What it quotes stays quoted, code in a quotation stays
 * code, and no sign in either does anything.
 */
export function asRead(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  let inCode = false;
  return text.split('\n').map((line) => {
    const [, mark = '', indent = '', words = ''] = LINE.exec(line) ?? [];
    const isQuoted = mark.startsWith('>');
    if (isQuoted && words === '```') {
      inCode = !inCode;
      return `> ${fence}`;
    }
    // Where the quotation ends, its code does.
    inCode &&= isQuoted;
    if (inCode) return `> ${indent}${words}`;
    // Two spaces at the end keep a line on its own.
    return words === '' ? mark : `${mark}${'\u00a0'.repeat(indent.length)}${escapeMarkdown(words)}  `;
  }).join('\n');
}

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
