/** Converts the server's entries to the page's items: shortened to what a row shows, or whole for an open row. Pure. */
import * as l10n from '@vscode/l10n';

import type { ArtifactLedger, Block, CompactionBlock, EditInfo, Entry, Message } from '../protocol.gen';
import type { EditLine, Item, Ledger, Marker, Part } from './messages';

/** Characters of a text in a closed row: more than its three lines hold. */
const PREVIEW = 600;
/** Characters of a text in an open row. The page would be slow with more. */
const WHOLE = 100_000;
/** Characters of a tool call's argument in a closed row. */
const ARGUMENT = 200;
/** The fields that describe a tool call best, best first. */
const TELLING = ['command', 'cmd', 'file_path', 'path', 'filePath', 'notebook_path', 'pattern', 'query', 'url', 'description', 'prompt'];
const REPLACING = new Set(['clear_tool_uses', 'clear_thinking', 'duplicate_reads', 'shorten']);

/** The contents that replace messages' own contents in the context, by message id. */
export type Replacements = ReadonlyMap<string, string>;

export function toItem(entry: Entry, edits: readonly EditInfo[], replacements: Replacements): Item {
  const { message } = entry;
  const marker = message.content.find((block): block is CompactionBlock => block.type === 'context_compaction');
  return {
    id: message.id,
    index: entry.index,
    role: entry.byAgent ? 'agent' : message.role,
    tokens: entry.tokens,
    archived: entry.archived,
    pinned: entry.pinned,
    replaced: entry.archived ? null : (replacements.get(message.id) ?? null),
    parts: marker ? [] : drawn(message).map((block) => toPart(block, PREVIEW)),
    marker: marker ? toMarker(message.id, marker, edits) : null,
  };
}

/** Returns a message's whole contents. */
export function wholeParts(message: Message): Part[] {
  return drawn(message).map((block) => toPart(block, WHOLE));
}

/** Returns the blocks that show something. Some models put a blank text before their thinking. */
function drawn({ content }: Message): readonly Block[] {
  return content.filter((block) => block.type !== 'text' || block.text.trim() !== '');
}

export function toEditLine(edit: EditInfo): EditLine {
  const { id, kind, timestamp, trigger, tokensSaved } = edit;
  return { id, kind, timestamp, trigger, tokensSaved, reverted: edit.reverted ?? false, partOf: edit.partOf ?? null };
}

/** Returns the ids of the edits in force as one string, to compare two readings. */
export function inForce(edits: readonly EditInfo[]): string {
  return edits.flatMap((edit) => (edit.reverted ? [] : [edit.id])).join(' ');
}

/** Whether contents in the context may differ from those in the transcript. */
export function replacesContents(edits: readonly EditInfo[]): boolean {
  return edits.some((edit) => !edit.reverted && REPLACING.has(edit.kind));
}

/** Returns the contents of the messages that differ between context and transcript, by message id. */
export function findReplacements(transcript: readonly Entry[], context: ReadonlyMap<string, Message>): Map<string, string> {
  const found = new Map<string, string>();
  for (const { message } of transcript) {
    const shown = context.get(message.id);
    const changed = shown?.content.find((block, i) => JSON.stringify(block) !== JSON.stringify(message.content[i]));
    if (changed) found.set(message.id, blockText(changed).slice(0, PREVIEW));
  }
  return found;
}

function toMarker(messageId: string, block: CompactionBlock, edits: readonly EditInfo[]): Marker {
  const edit = edits.find((each) => each.kind === 'compaction' && messageId === `${each.id}-marker`);
  return {
    editId: edit?.id ?? null,
    number: block.compaction_number,
    timestamp: block.timestamp,
    trigger: edit?.trigger ?? '',
    summary: block.summary,
    summarizer: block.summarizer ?? 'offline',
    messagesArchived: block.messages_archived,
    before: block.context_size_before,
    after: block.context_size_after ?? 0,
    ledger: toLedger(block.ledger ?? {}),
  };
}

function toLedger({ files = [], commands = [], identifiers = [] }: ArtifactLedger): Ledger {
  return {
    files: files.map(({ path, action, times = 1 }) => ({ path, action, times })),
    commands: commands.map(({ command, outcome, detail = '', times = 1 }) => ({ command, outcome, detail, times })),
    identifiers: identifiers.map(({ name, context = '', times = 1 }) => ({ name, context, times })),
  };
}

function toPart(block: Block, limit: number): Part {
  switch (block.type) {
    case 'thinking':
      return { kind: 'thinking', ...clip(block.thinking || l10n.t('Encrypted by the provider.'), limit) };
    case 'tool_use':
      return { kind: 'tool_use', id: block.id, name: block.name, argument: limit === WHOLE ? pretty(block.input) : argument(block.input) };
    case 'tool_result':
      return { kind: 'tool_result', id: block.tool_use_id, failed: block.is_error ?? false, ...clip(blockText(block), limit) };
    case 'image':
      return { kind: 'image', label: imageLabel(block) };
    case 'resource':
      return { kind: 'resource', label: block.uri, ...clip(block.text ?? '', limit) };
    default:
      return { kind: 'text', ...clip(blockText(block), limit) };
  }
}

/** Shortens a long text to its beginning and, because failures are reported at the end, its end. */
function clip(text: string, limit: number): { text: string; more: boolean } {
  if (text.length <= limit) return { text, more: false };
  return { text: limit === WHOLE ? text.slice(0, limit) : `${text.slice(0, limit / 2)}\n${text.slice(-limit / 2)}`, more: true };
}

function argument(input: Readonly<Record<string, unknown>>): string {
  const telling = TELLING.map((name) => spoken(input[name])).find((value) => value !== '');
  const value = telling ?? Object.values(input).map(spoken).find((each) => each !== '');
  return (value ?? pretty(input)).replace(/\s+/g, ' ').slice(0, ARGUMENT);
}

/** Returns a text, or the command of a list like `bash -lc COMMAND`, or an empty string. */
function spoken(value: unknown): string {
  if (typeof value === 'string') return value;
  const words = Array.isArray(value) ? value.filter((word): word is string => typeof word === 'string') : [];
  return words.length === 3 && /^-\w*c$/.test(words[1] ?? '') ? (words[2] ?? '') : words.join(' ');
}

function pretty(input: Readonly<Record<string, unknown>>): string {
  return Object.keys(input).length === 0 ? '' : JSON.stringify(input, undefined, 2).slice(0, WHOLE);
}

function imageLabel({ width, height }: { readonly width?: number; readonly height?: number }): string {
  return width !== undefined && height !== undefined ? l10n.t('Picture, {0} × {1}', width, height) : l10n.t('Picture');
}

function blockText(block: Block): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'thinking':
      return block.thinking;
    case 'tool_use':
      return argument(block.input);
    case 'tool_result':
      return (block.content ?? []).map(blockText).join('\n');
    case 'image':
      return imageLabel(block);
    case 'resource':
      return block.text ?? block.uri;
    case 'context_compaction':
      return block.summary;
  }
}
