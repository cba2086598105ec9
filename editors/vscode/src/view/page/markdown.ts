/**
 * The part of Markdown that summaries use (headings, lists, fenced and inline code, bold) as plain values. No HTML is
 * ever made: the page turns the values into text nodes, so any text in a summary stays text.
 */

export type Inline = { readonly kind: 'text' | 'code' | 'strong'; readonly text: string };

export type Block =
  | { readonly kind: 'heading'; readonly level: number; readonly inlines: readonly Inline[] }
  | { readonly kind: 'paragraph'; readonly inlines: readonly Inline[] }
  | { readonly kind: 'item'; readonly depth: number; readonly mark: string; readonly inlines: readonly Inline[] }
  | { readonly kind: 'code'; readonly text: string };

const HEADING = /^(#{1,6})\s+(.*)$/;
const ITEM = /^(\s*)([-*+•]|\d{1,3}[.)])\s+(.*)$/;
const FENCE = /^\s*(`{3,}|~{3,})/;
const INLINE = /(`+)(.+?)\1(?!`)|\*\*(.+?)\*\*/gs;
/** Deeper lists are indented like this depth, because a side bar is narrow. */
const MAX_DEPTH = 4;

type Line = { readonly kind: 'paragraph' | 'item'; readonly block: Block; text: string };

/** Returns the blocks of a text. An unfinished construct is what it looks like so far, so a text may be parsed while it grows. */
export function parseMarkdown(text: string): Block[] {
  const blocks: Block[] = [];
  const lines = text.split(/\r?\n/);
  let open: Line | undefined;
  const close = (): void => {
    if (open) blocks.push({ ...open.block, inlines: parseInlines(open.text) } as Block);
    open = undefined;
  };
  for (let i = 0; i < lines.length; i += 1) {
    const line = lines[i] ?? '';
    const fence = FENCE.exec(line)?.[1];
    if (fence) {
      close();
      const end = endOfFence(lines, i + 1, fence);
      blocks.push({ kind: 'code', text: lines.slice(i + 1, end).join('\n') });
      i = end;
    } else if (line.trim() === '') close();
    else open = readLine(line, open, blocks, close);
  }
  close();
  return blocks;
}

/** Splits text into plain text, `code` and **bold**. */
export function parseInlines(text: string): Inline[] {
  const inlines: Inline[] = [];
  let from = 0;
  for (const match of text.matchAll(INLINE)) {
    if (match.index > from) inlines.push({ kind: 'text', text: text.slice(from, match.index) });
    if (match[2] !== undefined) inlines.push({ kind: 'code', text: match[2].trim() || match[2] });
    else inlines.push({ kind: 'strong', text: match[3] ?? '' });
    from = match.index + match[0].length;
  }
  if (from < text.length) inlines.push({ kind: 'text', text: text.slice(from) });
  return inlines;
}

function readLine(line: string, open: Line | undefined, blocks: Block[], close: () => void): Line | undefined {
  const heading = HEADING.exec(line);
  if (heading) {
    close();
    blocks.push({ kind: 'heading', level: heading[1]?.length ?? 1, inlines: parseInlines(heading[2] ?? '') });
    return undefined;
  }
  const item = ITEM.exec(line);
  if (item) {
    close();
    const depth = Math.min(MAX_DEPTH, Math.floor((item[1] ?? '').replaceAll('\t', '  ').length / 2));
    const mark = /\d/.test(item[2] ?? '') ? (item[2] ?? '') : '•';
    return { kind: 'item', block: { kind: 'item', depth, mark, inlines: [] }, text: item[3] ?? '' };
  }
  if (open) {
    open.text += `\n${line.trim()}`;
    return open;
  }
  return { kind: 'paragraph', block: { kind: 'paragraph', inlines: [] }, text: line.trim() };
}

function endOfFence(lines: readonly string[], from: number, fence: string): number {
  const end = lines.findIndex((line, i) => i >= from && line.trim().startsWith(fence));
  return end < 0 ? lines.length : end;
}
