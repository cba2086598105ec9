/**
 * The text of the preview's document: the messages that stay, the summary between two marks, and the messages that are
 * archived. Pure functions of text.
 */
import * as l10n from '@vscode/l10n';

import { full, inPercent, messages, short, shrinking } from './figures';
import { entryName, messageStart } from './messageText';
import type { CompactResult, Entry } from './protocol.gen';

export const SUMMARY_BEGIN = `<!-- ${l10n.t('The summary: edit it down to the next mark.')} -->`;
export const SUMMARY_END = `<!-- ${l10n.t('End of the summary.')} -->`;

/** The signs before a line that stays and a line that is archived, as in a diff. */
const STAYS = '  ';
const GOES = '- ';

/** The content of a preview. `entries` are the messages of the context as it is now. */
export interface PreviewContent {
  readonly result: CompactResult;
  readonly entries: readonly Entry[];
  readonly title: string;
  /** Whose conversation the session is a copy of, or an empty string. */
  readonly copyOf: string;
}

export function previewDocument({ result, entries, title, copyOf }: PreviewContent): string {
  const gone = new Set(result.archived.map((entry) => entry.message.id));
  const stays = entries.filter((entry) => !gone.has(entry.message.id));
  const sizes = shrinking(result.contextSizeBefore, result.contextSizeAfter);
  return [
    `# ${title ? l10n.t('Compaction of {0}: {1}', title, sizes) : l10n.t('Compaction of this session: {0}', sizes)}`,
    l10n.t('Nothing has changed yet. Edit the summary if you like, then Accept (✓) or Discard in the title bar. What goes can be brought back with Undo.'),
    ...(copyOf ? [l10n.t('This is a copy: {0} stays as it is.', copyOf)] : []),
    `## ${l10n.t('Summary, in place of what goes')}`,
    SUMMARY_BEGIN,
    result.summary,
    SUMMARY_END,
    `## ${l10n.t('Stays: {0}, {1} tokens', messages(stays.length), full(sum(stays)))}`,
    list(STAYS, stays),
    `## ${l10n.t('Goes: {0}, {1} tokens freed', messages(result.archived.length), full(result.contextSizeBefore - result.contextSizeAfter))}`,
    list(GOES, result.archived),
    '',
  ].join('\n\n');
}

/** Returns the summary in a document as the user edited it, or undefined if a mark is gone. */
export function summaryOf(document: string): string | undefined {
  const begin = document.indexOf(SUMMARY_BEGIN);
  const end = document.lastIndexOf(SUMMARY_END);
  if (begin < 0 || end < begin + SUMMARY_BEGIN.length) return undefined;
  return document.slice(begin + SUMMARY_BEGIN.length, end).trim();
}

/** Returns what a document holds outside of the summary, to see whether the user typed there. */
export function outsideOf(document: string): string {
  const begin = document.indexOf(SUMMARY_BEGIN);
  const end = document.lastIndexOf(SUMMARY_END);
  return begin < 0 || end < begin ? document : document.slice(0, begin) + document.slice(end);
}

/** Estimates the context's size with another summary, at four characters a token. */
export function sizeWith(result: CompactResult, summary: string): number {
  return Math.max(0, result.contextSizeAfter + Math.round((summary.length - result.summary.length) / 4));
}

/** Lines of a preview, counted from 0; `last` is included. The range is empty if `last` comes before `first`. */
export interface Lines {
  readonly first: number;
  readonly last: number;
}

/** Returns the lines that a preview adds (the summary) and removes, or undefined if a mark is gone. */
export function changedLines(document: string): { readonly added: Lines; readonly removed: Lines } | undefined {
  const lines = document.split('\n');
  const [begin, end] = [lines.indexOf(SUMMARY_BEGIN), lines.lastIndexOf(SUMMARY_END)];
  if (begin < 0 || end < begin) return undefined;
  const goes = lines.findIndex((line, at) => at > end && line.startsWith(GOES));
  return { added: trim(lines, begin + 1, end - 1), removed: goes < 0 ? { first: 0, last: -1 } : trim(lines, goes, lines.length - 1) };
}

/** Removes the empty lines at both ends. */
function trim(lines: readonly string[], first: number, last: number): Lines {
  while (first <= last && !lines[first]) first += 1;
  while (first <= last && !lines[last]) last -= 1;
  return { first, last };
}

/** Returns the line over the document, which changes while the user edits. */
export function previewLine(result: CompactResult, summary: string | undefined): string {
  if (summary === undefined) return l10n.t('A mark around the summary is missing: undo that edit to accept');
  const after = sizeWith(result, summary);
  const near = summary === result.summary ? '' : '≈';
  const line = `${short(result.contextSizeBefore)} → ${near}${short(after)}`;
  if (after >= result.contextSizeBefore) return l10n.t('{0}: the summary is larger than what it replaces', line);
  return l10n.t('{0} ({1} less)', line, inPercent(result.contextSizeBefore - after, result.contextSizeBefore));
}

function list(mark: string, entries: readonly Entry[]): string {
  if (entries.length === 0) return l10n.t('Nothing.');
  return entries.map((entry) => `${mark}${line(entry)}`).join('\n');
}

function line(entry: Entry): string {
  const pinned = entry.pinned ? '📌 ' : '';
  return `${entryName(entry)} (${short(entry.tokens)}) ${pinned}${messageStart(entry.message, 60)}`;
}

function sum(entries: readonly Entry[]): number {
  return entries.reduce((tokens, entry) => tokens + entry.tokens, 0);
}
