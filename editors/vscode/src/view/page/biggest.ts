/** The biggest messages of a part of the gauge. Pure. */
import * as l10n from '@vscode/l10n';

import { numberOf } from '../../figures';
import type { Item } from '../messages';
import { itemText } from './words';

/** As many as a user can take in at a glance. */
const SHOWN = 8;

export interface Big {
  readonly id: string;
  /** The message's number, or an empty string for a summary. */
  readonly number: string;
  readonly text: string;
  /** Undefined for parts that are not counted by message. */
  readonly tokens: number | undefined;
}

/** Returns the part that a message of the context counts to. A message with tool results counts there as a whole. */
export function partOf(item: Item): 'summary' | 'system_prompt' | 'tool_results' | 'messages' {
  if (item.marker) return 'summary';
  if (item.role === 'system') return 'system_prompt';
  return item.parts.some((part) => part.kind === 'tool_result') ? 'tool_results' : 'messages';
}

/** Returns the biggest messages that count to a part, biggest first. */
export function biggestOf(part: string, items: readonly Item[]): Big[] {
  return items
    .filter((item) => !item.archived && partOf(item) === part)
    .sort((a, b) => b.tokens - a.tokens)
    .slice(0, SHOWN)
    .map((item) => ({
      id: item.id,
      number: item.marker ? '' : numberOf(item.index),
      text: item.marker ? l10n.t('Compacted #{0}', item.marker.number) : itemText(item).slice(0, 120),
      tokens: item.marker ? undefined : item.tokens,
    }));
}

const EXPLAINED: Readonly<Record<string, string>> = {
  tools: l10n.t('Names, descriptions and parameters of the tools the model is offered.'),
  overhead: l10n.t('What the provider counts beyond what the session holds: its own instructions and tools.'),
  memory: l10n.t('What the memory tool keeps in the context.'),
};

/** Explains a part that has no messages. */
export function explain(part: string): string {
  return EXPLAINED[part] ?? l10n.t('Nothing of it is loaded yet.');
}
