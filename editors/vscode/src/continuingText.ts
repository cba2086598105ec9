/** The words about a new session of an agent. Pure. */
import { full, messages, percent } from './figures';
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
        { label: `$(fold) Compacted · ${own.agent}`, description: 'by Ullage', params: {} },
        ...(beforeCompaction
          ? [{ label: `$(discard) Before compaction · ${own.agent}`, description: 'as it was before its own', params: { beforeCompaction: true } }]
          : []),
        { label: `$(history) After a message… · ${own.agent}`, description: 'as it was then', params: undefined },
      ]
    : [];
  const inOthers = others.flatMap(({ agent, word }): readonly Way[] => [
    { label: `$(arrow-swap) Whole · ${agent}`, description: 'all of the context', params: { agent: word, compacted: false } },
    { label: `$(arrow-swap) Compacted · ${agent}`, description: 'by Ullage', params: { agent: word, compacted: true } },
  ]);
  return [...inOwn, ...inOthers];
}

/** Returns how full the new session will be: `31,240 of 200,000 tokens (16%), 92,160 before · 14 messages, 44 left out`. */
export function figureOf({ used, size, before, messages: kept, leftOut }: ContinuingResult): string {
  const of = size === null ? ' tokens' : ` of ${full(size)} tokens (${percent(used, size)}%)`;
  const earlier = before === null ? '' : `, ${full(before)} before`;
  return `${full(used)}${of}${earlier} · ${messages(kept)}${leftOut > 0 ? `, ${full(leftOut)} left out` : ''}`;
}

/** Returns a command as a line for a shell. A word that a shell would take for more than one is quoted. */
export function commandLine(words: readonly string[], windows: boolean): string {
  return words.map((word) => (/^[\w@%+=:,./\\-]+$/.test(word) ? word : quoted(word, windows))).join(' ');
}

function quoted(word: string, windows: boolean): string {
  return windows ? `"${word.replaceAll('"', '""')}"` : `'${word.replaceAll("'", `'\\''`)}'`;
}
