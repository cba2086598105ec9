/**
 * Warns of an agent's own compaction, once until there is room again, and shows what else the server tells about followed
 * conversations: each sentence once.
 */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import { asMessage } from '../labels';
import type { FollowedConversation } from '../protocol.gen';
import type { Following } from './following';
import { warningOf } from './rows';

/** The most warnings that are remembered as shown. */
const REMEMBERED = 200;
const SHOWN = 'ullage.shownWarnings';
const SHOW = l10n.t('Show');
const COMPACT = l10n.t('Compact…');

export class Warnings implements vscode.Disposable {
  readonly #memory: vscode.Memento;
  readonly #isQuiet: () => boolean;
  readonly #subscription: vscode.Disposable;
  /** The conversations whose compaction was warned of since they last had room. */
  readonly #warned = new Set<string>();

  constructor(following: Following, memory: vscode.Memento, isQuiet: () => boolean) {
    this.#memory = memory;
    this.#isQuiet = isQuiet;
    // Only what this window shows: other windows have the others.
    this.#subscription = following.onDidChange((changed) => {
      const shown = new Set(following.shown.rows.map(({ sessionId }) => sessionId));
      for (const row of changed) if (shown.has(row.sessionId)) this.#take(row);
    });
  }

  dispose(): void {
    this.#subscription.dispose();
  }

  #take(row: FollowedConversation): void {
    const isImminent = row.nearness === 'imminent';
    if (!isImminent && row.nearness !== 'near') this.#warned.delete(row.sessionId);
    if (!row.live || (this.#isQuiet() && !isImminent)) return;
    const known = this.#memory.get<string[]>(SHOWN, []);
    const keys = new Map(row.warnings.map((text) => [`${row.sessionId} ${text}`, text]));
    const fresh = [...keys].filter(([key]) => !known.includes(key));
    const isDue = isImminent && !this.#warned.has(row.sessionId);
    if (isDue) this.#warned.add(row.sessionId);
    if (fresh.length > 0) void this.#memory.update(SHOWN, [...known, ...fresh.map(([key]) => key)].slice(-REMEMBERED));
    if (isDue) void this.#show(row, [warningOf(row), ...fresh.map(([, text]) => text)].join(' '), vscode.window.showWarningMessage);
    else if (fresh.length > 0) void this.#show(row, `${row.agent}: ${fresh.map(([, text]) => text).join(' ')}`, vscode.window.showInformationMessage);
  }

  async #show(row: FollowedConversation, text: string, show: (text: string, ...actions: string[]) => Thenable<string | undefined>): Promise<void> {
    const chosen = await show(asMessage(text), SHOW, COMPACT);
    if (chosen === SHOW) await vscode.commands.executeCommand('ullage.showAgents');
    if (chosen === COMPACT) await vscode.commands.executeCommand('ullage.compactContext', row.sessionId);
  }
}
