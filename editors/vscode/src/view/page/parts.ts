/** The parts of a message as DOM: text, tool calls with their results, thinking, images. */
import * as l10n from '@vscode/l10n';

import { short } from '../../figures';
import { plainText } from '../../plainText';
import type { Call, Item, Part } from '../messages';
import { h } from './dom';
import { icon } from './icons';
import { wholeTexts } from '../speech';
import { markdown } from './markdown';
import type { MessageRow } from './rows';
import { callWord, outcomeLine } from './words';

/** Whole contents by message id, for rows that are open. */
export type Details = ReadonlyMap<string, readonly Part[]>;

/** What is known of messages that were written while the page was open. */
export interface Voice {
  /** Whole texts by message id. */
  readonly said: ReadonlyMap<string, readonly Part[]>;
  /** States of tool calls by their id. */
  readonly calls: ReadonlyMap<string, Call>;
  /** Whether a message's thinking is unfolded, and the callback for when that changes. */
  readonly thinks: (id: string) => boolean;
  readonly keepThinking: (id: string, open: boolean) => void;
}

/** Makes everything that a message row shows between the speaker and the figure. */
export function drawParts(row: MessageRow, details: Details | undefined, voice: Voice): HTMLElement[] {
  const said = details ? undefined : voice.said.get(row.item.id);
  const results = new Map(row.results.flatMap((item) => resultsOf(item, details)));
  return (details?.get(row.item.id) ?? (said ? wholeTexts(row.item.parts, said) : row.item.parts)).map((part) => {
    if (part.kind === 'tool_use') return withState(drawToolUse(part, results.get(part.id), row.itemized, details !== undefined), results.has(part.id) ? undefined : voice.calls.get(part.id));
    if (part.kind === 'tool_result') return drawToolResult({ part, item: row.item }, details !== undefined);
    if (said && part.kind === 'thinking') return drawThinking(part.text, row, voice);
    return drawPart(part, row.item, details !== undefined || said !== undefined);
  });
}

/** Adds the state of a call that has no result yet. */
function withState(tool: HTMLElement, call: Call | undefined): HTMLElement {
  const words = call ? callWord(call) : '';
  const line = tool.firstElementChild;
  if (!line || !call || words === '') return tool;
  if (call.status === 'in_progress') line.append(h('span.spinner'));
  line.append(h('span.badge.call-state', { title: call.title }, words));
  return tool;
}

/** Makes the thinking, which is folded until the user opens it. */
function drawThinking(text: string, { item, live }: MessageRow, voice: Voice): HTMLElement {
  const element = h('details.thought', { open: voice.thinks(item.id) }, h('summary', {}, live === 'written' && item.parts.length === 1 ? l10n.t('Thinking…') : l10n.t('Thinking')), h('div.thinking', {}, text));
  element.addEventListener('toggle', () => voice.keepThinking(item.id, element.open));
  return element;
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
