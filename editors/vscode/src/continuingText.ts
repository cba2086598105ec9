/** The words about a new session of an agent. Pure. */
import * as l10n from '@vscode/l10n';

import { full, inPercent, messages } from './figures';
import type { ContinuingPreviewParams, ContinuingChoicesResult, ContinuingResult } from './protocol.gen';

/**
 * One way to continue a conversation. The label begins with what differs, because a narrow picker cuts its end. `params`
 * are missing where the user has to choose a message first.
 */
export interface Way {
  readonly label: string;
  readonly description: string;
  readonly params: Omit<ContinuingPreviewParams, 'sessionId'> | undefined;
}

/** Returns the ways to continue a conversation, those in its own agent first. */
export function waysOf({ agents, beforeCompaction }: ContinuingChoicesResult): readonly Way[] {
  const own = agents.find((agent) => agent.own);
  const others = agents.filter((agent) => !agent.own);
  const inOwn: readonly Way[] = own
    ? [
        { label: `$(fold) ${l10n.t('Compacted · {0}', own.agent)}`, description: l10n.t('by Ullage'), params: {} },
        ...(beforeCompaction
          ? [{ label: `$(discard) ${l10n.t('Before compaction · {0}', own.agent)}`, description: l10n.t('as it was before its own'), params: { beforeCompaction: true } }]
          : []),
        { label: `$(history) ${l10n.t('After a message… · {0}', own.agent)}`, description: l10n.t('as it was then'), params: undefined },
      ]
    : [];
  const inOthers = others.flatMap(({ agent, word }): readonly Way[] => [
    { label: `$(arrow-swap) ${l10n.t('Whole · {0}', agent)}`, description: l10n.t('all of the context'), params: { agent: word, compacted: false } },
    { label: `$(arrow-swap) ${l10n.t('Compacted · {0}', agent)}`, description: l10n.t('by Ullage'), params: { agent: word, compacted: true } },
  ]);
  return [...inOwn, ...inOthers];
}

/** Returns how full the new session will be: `31,240 of 200,000 tokens (16%), 92,160 before · 14 messages, 44 left out`. */
export function figureOf({ used, size, before, messages: kept, leftOut }: ContinuingResult): string {
  const now = size === null ? l10n.t('{0} tokens', full(used)) : l10n.t('{0} of {1} tokens ({2})', full(used), full(size), inPercent(used, size));
  const sizes = before === null ? now : l10n.t({ message: '{0}, {1} before', args: [now, full(before)], comment: ['A size in tokens, and the size before.'] });
  return `${sizes} · ${leftOut > 0 ? l10n.t('{0}, {1} left out', messages(kept), full(leftOut)) : messages(kept)}`;
}

/** Returns a command as a line for a shell. A word that a shell would take for more than one is quoted. */
export function commandLine(words: readonly string[], windows: boolean): string {
  return words.map((word) => (/^[\w@%+=:,./\\-]+$/.test(word) ? word : quoted(word, windows))).join(' ');
}

function quoted(word: string, windows: boolean): string {
  return windows ? `"${word.replaceAll('"', '""')}"` : `'${word.replaceAll("'", `'\\''`)}'`;
}
