/** Commands on single messages, and how the user chooses one: of the context, or of the whole conversation by its page, its number or words. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import { errorText, isCancelled } from '../connection';
import type { Ullage } from '../extension';
import { ContextMessages, ContextPin, ContextSearch, type Entry, type SearchHit } from '../protocol.gen';
import { asLabel, full, messageLine, numberOf, oneLine, short, speaker } from '../words';
import { activeSession, type Command } from './guard';

/** Returns every message of the context as the model would be sent it. */
export async function contextEntries(ullage: Ullage, sessionId: string): Promise<readonly Entry[]> {
  const { entries } = await ullage.sessions.request(ContextMessages, { sessionId });
  return entries;
}

/** Lets the user pick a message of the context, newest first. Returns undefined if the user picks none. */
export async function pickMessage(
  ullage: Ullage,
  sessionId: string,
  title: string,
): Promise<MessageItem | undefined> {
  const entries = await contextEntries(ullage, sessionId);
  const items = entries.filter((entry) => !entry.inserted).map(asItem).reverse();
  if (items.length === 0) {
    void vscode.window.showInformationMessage(l10n.t('There is no message.'));
    return undefined;
  }
  return vscode.window.showQuickPick(items, { title, placeHolder: l10n.t('Newest first'), matchOnDescription: true });
}

/** Pins a message, or unpins one that is pinned. */
export const pin: Command = async (ullage) => {
  const sessionId = activeSession(ullage);
  const chosen = await pickMessage(ullage, sessionId, l10n.t('Pin a message, so that it stays verbatim through every compaction, or unpin it'));
  if (!chosen) return;
  const pinned = !chosen.pinned;
  const { pinned: all } = await ullage.sessions.request(ContextPin, { sessionId, messageId: chosen.messageId, pinned });
  ullage.pinsChanged.fire();
  void vscode.window.showInformationMessage(pinned ? l10n.t('Pinned {0}. Pinned now: {1}.', numberOf(chosen.index), all.length) : l10n.t('Unpinned {0}. Pinned now: {1}.', numberOf(chosen.index), all.length));
};

export interface MessageItem extends vscode.QuickPickItem {
  readonly messageId: string;
  readonly index: number;
  readonly pinned?: boolean;
}

export function asItem(entry: Entry): MessageItem {
  const icon = entry.pinned ? '$(pinned) ' : '';
  return {
    label: `${icon}${asLabel(messageLine(entry))}`,
    description: entry.archived ? l10n.t('archived') : l10n.t('{0} tokens', short(entry.tokens)),
    messageId: entry.message.id,
    index: entry.index,
    pinned: entry.pinned,
  };
}

/** The most messages of one page, and the most that a search finds. */
const PAGE = 100;
const HITS = 20;
/** Milliseconds without a key before a search begins. */
const PAUSE = 150;
const HINT = l10n.t('Newest first. Type words or a number such as #12 to find older messages');

type Item = vscode.QuickPickItem & { readonly message?: MessageItem };

/** Returns the message that the user chooses of all that were ever said in the session, undefined if the user chooses none. */
export async function pickAnyMessage(ullage: Ullage, sessionId: string, title: string): Promise<MessageItem | undefined> {
  const picker = new Picker(ullage, sessionId, title);
  try {
    return await picker.choose();
  } finally {
    picker.dispose();
  }
}

class Picker {
  readonly #pick = vscode.window.createQuickPick<Item>();
  readonly #ullage: Ullage;
  readonly #sessionId: string;
  readonly #title: string;
  #source = new vscode.CancellationTokenSource();
  #pause: NodeJS.Timeout | undefined;
  /** The messages that are listed, newest first. */
  #listed: readonly MessageItem[] = [];
  /** The index of the oldest message whose page is listed: so many older ones are left. */
  #left: number | undefined;
  #found: readonly MessageItem[] = [];

  constructor(ullage: Ullage, sessionId: string, title: string) {
    this.#ullage = ullage;
    this.#sessionId = sessionId;
    this.#title = title;
    this.#pick.title = title;
    this.#pick.placeholder = HINT;
    this.#pick.matchOnDescription = true;
  }

  choose(): Promise<MessageItem | undefined> {
    return new Promise((resolve) => {
      this.#pick.onDidAccept(() => {
        const [item] = this.#pick.activeItems;
        if (item?.message) resolve(item.message);
        else if (item) this.#run(() => this.#more());
      });
      this.#pick.onDidHide(() => { resolve(undefined); });
      this.#pick.onDidChangeValue((value) => { this.#look(value); });
      this.#pick.show();
      this.#run(() => this.#more());
    });
  }

  dispose(): void {
    clearTimeout(this.#pause);
    this.#source.cancel();
    this.#pick.dispose();
  }

  /** Lists the page before the oldest message. The highlight stays: at the newest one, or where the older ones begin. */
  async #more(): Promise<void> {
    const left = this.#left ?? (await this.#entries(0, 1)).total;
    const offset = Math.max(0, left - PAGE);
    const { entries } = left > offset ? await this.#entries(offset, left - offset) : { entries: [] };
    const older = entries.map(asItem).reverse();
    this.#left = offset;
    this.#listed = [...this.#listed, ...older];
    this.#show(this.#listed.length > older.length ? older[0] : undefined);
  }

  /** Finds messages in the whole conversation once the user pauses. */
  #look(value: string): void {
    clearTimeout(this.#pause);
    this.#source.cancel();
    this.#source = new vscode.CancellationTokenSource();
    const words = value.trim();
    if (words === '') {
      this.#found = [];
      this.#show();
    } else {
      this.#pause = setTimeout(() => { this.#run(() => this.#find(words, this.#source.token)); }, PAUSE);
    }
  }

  async #find(words: string, token: vscode.CancellationToken): Promise<void> {
    const [, number] = /^#?(\d+)$/.exec(words) ?? [];
    const found = number === undefined ? await this.#search(words, token) : (await this.#entries(Number(number) - 1, 1)).entries.map(asItem);
    if (token.isCancellationRequested) return;
    this.#found = found;
    this.#show(found[0]);
  }

  async #search(query: string, token: vscode.CancellationToken): Promise<readonly MessageItem[]> {
    const { hits, note } = await this.#ullage.sessions.request(ContextSearch, { sessionId: this.#sessionId, query, limit: HITS }, token);
    if (!token.isCancellationRequested) this.#pick.title = note || this.#title;
    return hits.map(fromHit);
  }

  async #entries(offset: number, limit: number): Promise<{ readonly entries: readonly Entry[]; readonly total: number }> {
    // There is no message before the first one.
    if (offset < 0) return { entries: [], total: 0 };
    return this.#ullage.sessions.request(ContextMessages, { sessionId: this.#sessionId, scope: 'transcript', offset, limit });
  }

  /** Shows what was found, then the list. `active` is highlighted. */
  #show(active?: MessageItem): void {
    const found = this.#found.map((message): Item => ({ ...message, alwaysShow: true, message }));
    const others = this.#listed.filter(({ messageId }) => !this.#found.some((hit) => hit.messageId === messageId));
    const list = others.map((message): Item => ({ ...message, message }));
    const left = this.#left ?? 0;
    this.#pick.items = [
      ...group(l10n.t('Found in the whole conversation'), found),
      ...(found.length > 0 ? group(l10n.t('Newest first'), list) : list),
      ...(left > 0 ? [{ label: `$(chevron-down) ${l10n.t('Older messages ({0} more)…', full(left))}`, alwaysShow: true }] : []),
    ];
    if (this.#pick.items.length === 0) this.#pick.placeholder = l10n.t('There is no message yet');
    const again = this.#pick.items.find(({ message }) => message !== undefined && message.messageId === active?.messageId);
    if (again) this.#pick.activeItems = [again];
  }

  /** Runs work that fills the list. A failure is the title. */
  #run(work: () => Promise<void>): void {
    this.#pick.busy = true;
    work().catch((error: unknown) => { if (!isCancelled(error)) this.#pick.title = errorText(error); }).finally(() => { this.#pick.busy = false; });
  }
}

function group(label: string, items: readonly Item[]): readonly Item[] {
  return items.length > 0 ? [{ label, kind: vscode.QuickPickItemKind.Separator }, ...items] : [];
}

function fromHit({ index, role, snippet, messageId }: SearchHit): MessageItem {
  return { label: asLabel(`${numberOf(index)} ${speaker(role)}  ${oneLine(snippet.replaceAll('**', ''), 80)}`), messageId, index };
}
