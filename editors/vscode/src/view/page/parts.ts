/** The parts of a message as DOM: text, tool calls with their results, thinking, images. */
import * as l10n from '@vscode/l10n';

import { short } from '../../figures';
import { plainText } from '../../labels';
import type { Item, Part } from '../messages';
import { h, icon } from './dom';
import { markdown } from './markdown';
import type { MessageRow } from './rows';
import { outcomeLine } from './words';

/** Whole contents by message id, for rows that are open. */
export type Details = ReadonlyMap<string, readonly Part[]>;

/** Makes everything that a message row shows between the speaker and the figure. */
export function drawParts(row: MessageRow, details: Details | undefined): HTMLElement[] {
  const results = new Map(row.results.flatMap((item) => resultsOf(item, details)));
  const open = details !== undefined;
  return (details?.get(row.item.id) ?? row.item.parts).map((part) => {
    if (part.kind === 'tool_use') return drawToolUse(part, results.get(part.id), row.itemized, open);
    return part.kind === 'tool_result' ? drawToolResult({ part, item: row.item }, open) : drawPart(part, row.item, open);
  });
}

interface Result {
  readonly part: Extract<Part, { kind: 'tool_result' }>;
  readonly item: Item;
}

function resultsOf(item: Item, details: Details | undefined): [string, Result][] {
  const parts = details?.get(item.id) ?? item.parts;
  return parts.flatMap((part) => (part.kind === 'tool_result' ? [[part.id, { part, item }]] : []));
}

function drawToolUse(part: Extract<Part, { kind: 'tool_use' }>, result: Result | undefined, itemized: boolean, open: boolean): HTMLElement {
  const line = h('div.tool-line', {}, icon('tool'), h('span.tool-name', {}, part.name));
  if (!open) line.append(' ', h('span.tool-argument', { title: part.argument }, part.argument));
  const tool = h('div.tool', {}, line);
  if (open && part.argument !== '') tool.append(h('pre.contents', { tabindex: 0 }, part.argument));
  if (result && itemized && !result.item.archived) line.append(h('span.tool-tokens', {}, short(result.item.tokens)));
  if (result) addResult(tool, line, result, open);
  return tool;
}

function drawToolResult(result: Result, open: boolean): HTMLElement {
  const line = h('div.tool-line', {}, icon('tool'), h('span.tool-name', {}, l10n.t('result')));
  if (!open) line.append(' ', h('span.tool-argument', {}, outcomeLine(plainText(result.part.text), result.part.failed)));
  const tool = h('div.tool', {}, line);
  addResult(tool, line, result, open);
  return tool;
}

function addResult(tool: HTMLElement, line: HTMLElement, result: Result, open: boolean): void {
  const { part, item } = result;
  if (item.replaced !== null) line.append(h('span.badge', { title: l10n.t('In the context stands: {0}', item.replaced) }, clearedWord(item.replaced)));
  if (part.failed && !open) tool.append(h('div.outcome', {}, `✗ ${outcomeLine(plainText(part.text), true)}`));
  if (open && part.text !== '') tool.append(h(`pre.contents${part.failed ? '.failed' : ''}`, { tabindex: 0 }, part.text), ...more(part));
}

function clearedWord(replacement: string): string {
  return /later/i.test(replacement) ? l10n.t('cleared, shown again later') : l10n.t('cleared');
}

function drawPart(part: Exclude<Part, { kind: 'tool_use' | 'tool_result' }>, item: Item, open: boolean): HTMLElement {
  switch (part.kind) {
    case 'text':
      return drawText(part, item, open);
    case 'thinking':
      return h(`div.thinking${open ? '' : '.clamp'}`, {}, h('span.badge', {}, l10n.t('thinking')), ' ', open ? part.text : plainText(part.text), ...more(part, open));
    case 'image':
      return h('div.attachment', {}, part.label);
    case 'resource':
      return h('div.attachment', {}, part.label, open && part.text !== '' && h('pre.contents', { tabindex: 0 }, part.text));
  }
}

function drawText(part: Extract<Part, { kind: 'text' }>, item: Item, open: boolean): HTMLElement {
  if (!open) return h('div.text.clamp', { dir: 'auto' }, plainText(part.text) || part.text);
  if (item.role !== 'assistant') return h('div.text', { dir: 'auto' }, part.text, ...more(part));
  const view = markdown();
  return view ? h('div.text.prose', {}, view.renderMarkdown(part.text), ...more(part)) : h('div.text', { dir: 'auto' }, part.text, ...more(part));
}

/** Says that even the open row does not show the whole content. */
function more(part: { readonly more: boolean }, open = true): HTMLElement[] {
  return part.more && open ? [h('div.more', {}, l10n.t('The rest is too long to show here; export the session to read it.'))] : [];
}
