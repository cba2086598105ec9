/** Messages as text for users. */
import * as l10n from '@vscode/l10n';

import { numberOf, oneLine } from './figures';
import { plainText } from './labels';
import { speaker } from './words';
import type { Entry, Message } from './protocol.gen';

type Block = Message['content'][number];

/** Returns the whole message as Markdown. */
export function messageMarkdown(message: Message): string {
  return message.content.map(blockText).join('\n\n');
}

/** Returns the word for who speaks, or that the message has results of tools. */
function speakerOf({ message, byAgent }: Entry): string {
  if (message.content.some((block) => block.type === 'tool_result')) return l10n.t('tool result');
  return speaker(byAgent ? 'agent' : message.role);
}

/** Returns `#12 assistant`. What an edit put into the context has no number, because it is not in the transcript. */
export function entryName(entry: Entry): string {
  const { message, index, inserted } = entry;
  if (!inserted) return `${numberOf(index)} ${speakerOf(entry)}`;
  return message.content.some((block) => block.type === 'context_compaction') ? l10n.t('summary') : l10n.t('notice');
}

/** Returns `#12 assistant  first words…`. */
export function messageLine(entry: Entry, length = 80): string {
  return `${entryName(entry)}  ${messageStart(entry.message, length)}`;
}

/** Returns the beginning of the message on one line. */
export function messageStart(message: Message, length: number): string {
  return oneLine(plainText(messageMarkdown(message)), length);
}

function blockText(block: Block): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'thinking':
      return `> ${block.thinking.replaceAll('\n', '\n> ')}`;
    case 'tool_use':
      return [`⚒ ${block.name}`, ...Object.entries(block.input).map(argument)].join('\n');
    case 'tool_result':
      return (block.content ?? []).map(blockText).join('\n');
    case 'image':
      return `[${l10n.t('image')}]`;
    case 'resource':
      return `[${block.uri}]\n${block.text ?? ''}`;
    case 'context_compaction':
      return `◈ ${l10n.t('Compacted #{0}', block.compaction_number)}\n${block.summary}`;
  }
}

/** Returns text as it is, so that its lines can be read, and anything else as JSON. */
function argument([name, value]: readonly [string, unknown]): string {
  return `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`;
}
