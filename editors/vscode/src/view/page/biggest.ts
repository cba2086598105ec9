/** What a part of the gauge is made of: its biggest messages. Pure. */
import type { Item } from '../messages';
import { itemText } from './words';

/** As many as can be taken in at a glance. */
const SHOWN = 8;

export interface Big {
  readonly id: string;
  readonly index: number;
  readonly text: string;
  /** Undefined for what is not counted by message. */
  readonly tokens: number | undefined;
}

/** The part a message of the context is counted to. One with results of tools counts there as a whole. */
export function partOf(item: Item): string {
  if (item.marker) return 'summary';
  if (item.role === 'system') return 'system_prompt';
  return item.parts.some((part) => part.kind === 'tool_result') ? 'tool_results' : 'messages';
}

/** The biggest messages that count to a part, the biggest first. */
export function biggestOf(part: string, items: readonly Item[]): Big[] {
  return items
    .filter((item) => !item.archived && partOf(item) === part)
    .sort((a, b) => b.tokens - a.tokens)
    .slice(0, SHOWN)
    .map((item) => ({
      id: item.id,
      index: item.index,
      text: item.marker ? `Compacted #${item.marker.number}` : itemText(item).slice(0, 120),
      tokens: item.marker ? undefined : item.tokens,
    }));
}

const EXPLAINED: Readonly<Record<string, string>> = {
  tools: 'Names, descriptions and parameters of the tools the model is offered.',
  overhead: 'What the provider counts beyond what the session holds: its own instructions and tools.',
  memory: 'What the memory tool keeps in the context.',
};

/** What to say of a part that no message makes up. */
export function explain(part: string): string {
  return EXPLAINED[part] ?? 'Nothing of it is loaded yet.';
}
