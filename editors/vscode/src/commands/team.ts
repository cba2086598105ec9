/** Searches what the user's team shares. */
import * as l10n from '@vscode/l10n';
import type * as vscode from 'vscode';

import { numberOf, oneLine } from '../figures';
import { asLabel } from '../labels';
import { TeamOpen, TeamSearch, type TeamHitRow } from '../protocol.gen';
import { speaker } from '../speaker';
import type { Command } from './guard';
import { pickFound } from './searchPick';

const TITLE = l10n.t('Search what your team shares');
/** The most messages that a search lists. */
const HITS = 30;
/** Milliseconds without a key before a search begins: it asks a server. */
const PAUSE = 300;

export const search: Command = async (ullage) => {
  const hit = await pickFound({
    title: TITLE,
    placeholder: l10n.t('Words to find'),
    pause: PAUSE,
    find: async (query, token) => {
      const { hits } = await ullage.sessions.request(TeamSearch, { query, limit: HITS }, token);
      return { hits, title: l10n.t('Search what your team shares: {0} found', hits.length) };
    },
    asItem,
  });
  if (!hit) return;
  const { sessionId, index } = hit;
  const { text } = await ullage.sessions.request(TeamOpen, { sessionId, index });
  await ullage.messages.show(`${sessionId}-${index}`, `${hit.owner} ${placeOf(hit)}`, text);
};

/** The user who speaks there is not the one who reads this. */
function placeOf({ index, role, owner }: TeamHitRow): string {
  return `${numberOf(index)} ${role === 'user' ? owner : speaker(role)}`;
}

function asItem(hit: TeamHitRow): vscode.QuickPickItem {
  const label = asLabel(oneLine(`${hit.owner} · ${hit.title || hit.folder}`, 80));
  // Without a title, the label has the folder.
  const description = asLabel(oneLine(hit.title ? `${placeOf(hit)} · ${hit.folder}` : placeOf(hit), 80));
  return { label, description, detail: asLabel(oneLine(hit.snippet.replaceAll('**', ''), 200)) };
}
