/** Commands on single messages. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import { numberOf, short } from '../figures';
import { asLabel } from '../labels';
import { messageLine } from '../messageText';
import { ContextMessages, ContextPin, type Entry } from '../protocol.gen';
import type { Ullage } from '../ullage';
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
