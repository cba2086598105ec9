/** Searches what the user's team shares. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import { errorText, isCancelled } from '../errors';
import { numberOf, oneLine } from '../figures';
import { asLabel } from '../labels';
import { TeamOpen, TeamSearch, type TeamHitRow } from '../protocol.gen';
import { speaker } from '../speaker';
import type { Ullage } from '../ullage';
import type { Command } from './guard';

const TITLE = l10n.t('Search what your team shares');
/** The most messages that a search lists. */
const HITS = 30;
/** Milliseconds without a key before a search begins: it asks a server. */
const PAUSE = 300;

type HitItem = vscode.QuickPickItem & { readonly hit: TeamHitRow };

export const search: Command = async (ullage) => {
  const hit = await pickHit(ullage);
  if (!hit) return;
  const { sessionId, index } = hit;
  const { text } = await ullage.sessions.request(TeamOpen, { sessionId, index });
  await ullage.messages.show(`${sessionId}-${index}`, `${hit.owner} ${placeOf(hit)}`, text);
};

/** Shows results while the user types. */
async function pickHit(ullage: Ullage): Promise<TeamHitRow | undefined> {
  const pick = vscode.window.createQuickPick<HitItem>();
  pick.title = TITLE;
  pick.placeholder = l10n.t('Words to find');
  let source = new vscode.CancellationTokenSource();
  let pause: NodeJS.Timeout | undefined;
  pick.onDidChangeValue((value) => {
    clearTimeout(pause);
    source.cancel();
    source = new vscode.CancellationTokenSource();
    const { token } = source;
    pause = setTimeout(() => { void find(ullage, pick, value.trim(), token); }, PAUSE);
  });
  try {
    return await new Promise((resolve) => {
      pick.onDidAccept(() => { resolve(pick.activeItems[0]?.hit); });
      pick.onDidHide(() => { resolve(undefined); });
      pick.show();
    });
  } finally {
    clearTimeout(pause);
    source.cancel();
    pick.dispose();
  }
}

async function find(ullage: Ullage, pick: vscode.QuickPick<HitItem>, query: string, token: vscode.CancellationToken): Promise<void> {
  pick.busy = true;
  try {
    const { hits } = query === '' ? { hits: [] } : await ullage.sessions.request(TeamSearch, { query, limit: HITS }, token);
    if (token.isCancellationRequested) return;
    pick.items = hits.map(asItem);
    pick.title = query === '' ? TITLE : l10n.t('Search what your team shares: {0} found', hits.length);
  } catch (error) {
    if (isCancelled(error) || token.isCancellationRequested) return;
    pick.items = [];
    pick.title = errorText(error);
  } finally {
    if (!token.isCancellationRequested) pick.busy = false;
  }
}

/** The user who speaks there is not the one who reads this. */
function placeOf({ index, role, owner }: TeamHitRow): string {
  return `${numberOf(index)} ${role === 'user' ? owner : speaker(role)}`;
}

/** Keeps the editor's own filter from hiding results of the server. */
function asItem(hit: TeamHitRow): HitItem {
  const label = asLabel(oneLine(`${hit.owner} · ${hit.title || hit.folder}`, 80));
  // Without a title, the label has the folder.
  const description = asLabel(oneLine(hit.title ? `${placeOf(hit)} · ${hit.folder}` : placeOf(hit), 80));
  return { label, description, detail: asLabel(oneLine(hit.snippet.replaceAll('**', ''), 200)), alwaysShow: true, hit };
}
