/** Messages as text for people. */
import { oneLine } from './figures';
import type { Entry, Message } from './protocol.gen';

type Block = Message['content'][number];

/** The whole message as Markdown. */
export function messageMarkdown(message: Message): string {
  return message.content.map(blockText).join('\n\n');
}

/** `#12 assistant  first words…` */
export function messageLine(entry: Entry, length = 80): string {
  const { message } = entry;
  return `#${entry.index} ${message.role}  ${oneLine(messageMarkdown(message), length)}`;
}

function blockText(block: Block): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'thinking':
      return `> ${block.thinking.replaceAll('\n', '\n> ')}`;
    case 'tool_use':
      return `⚒ ${block.name} ${JSON.stringify(block.input)}`;
    case 'tool_result':
      return (block.content ?? []).map(blockText).join('\n');
    case 'image':
      return '[image]';
    case 'resource':
      return `[${block.uri}]\n${block.text ?? ''}`;
    case 'context_compaction':
      return `◈ Compacted #${block.compaction_number}\n${block.summary}`;
  }
}
