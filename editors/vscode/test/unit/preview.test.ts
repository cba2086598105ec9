import { expect, test } from 'vitest';

import { changedLines, outsideOf, previewDocument, previewLine, sizeWith, summaryOf, SUMMARY_BEGIN } from '../../src/preview';
import type { CompactResult, MessagesResult } from '../../src/protocol.gen';
import { example } from './samples';

const result = example('context.compact.preview.result.json') as CompactResult;
const { entries } = example('context.messages.anthropic.result.json') as MessagesResult;
const document = previewDocument({ result, entries: [...entries, ...result.archived], title: 'fix-login', copyOf: '' });

test('a preview begins with the summary, then lists the kept messages and the archived ones', () => {
  const places = [SUMMARY_BEGIN, '## Stays: 1 message', '## Goes: 5 messages'].map((text) => document.indexOf(text));
  expect(places.every((place) => place >= 0)).toBe(true);
  expect([...places].sort((a, b) => a - b)).toEqual(places);
});

test('a preview of a copy says that the original stays', () => {
  const copy = previewDocument({ result, entries, title: 'fix-login', copyOf: 'Claude Code’s conversation' });
  expect(copy).toContain('This is a copy: Claude Code’s conversation stays as it is.');
  expect(document).not.toContain('This is a copy');
});

test('the summary is read back as it was written, and as it was edited', () => {
  expect(summaryOf(document)).toBe(result.summary);
  expect(summaryOf(document.replace(result.summary, 'Mine.'))).toBe('Mine.');
});

test('a summary that holds the mark itself is read to the last one', () => {
  const edited = document.replace(result.summary, 'a <!-- End of the summary. --> b');
  expect(summaryOf(edited)).toBe('a <!-- End of the summary. --> b');
});

test('what is typed outside of the summary is noticed, and what is typed in it is not taken for that', () => {
  expect(outsideOf(document.replace(result.summary, 'Mine.'))).toBe(outsideOf(document));
  expect(outsideOf(document.replace('## Stays', 'Keep the tests! ## Stays'))).not.toBe(outsideOf(document));
});

test('without its marks the summary is not guessed', () => {
  expect(summaryOf(document.replace(SUMMARY_BEGIN, ''))).toBeUndefined();
  expect(previewLine(result, undefined)).toContain('mark');
});

test('it reads as a diff: lines that go have a minus, those that stay none, the summary comes in between', () => {
  const lines = document.split('\n');
  const { added, removed } = changedLines(document) ?? { added: undefined, removed: undefined };
  expect(lines.slice(added?.first, (added?.last ?? 0) + 1).join('\n')).toBe(result.summary);
  const gone = lines.slice(removed?.first, (removed?.last ?? 0) + 1);
  expect(gone).toHaveLength(result.archived.length);
  expect(gone.every((line) => /^- #\d+ /.test(line))).toBe(true);
  expect(lines.filter((line) => /^ {2}#\d+ /.test(line))).toHaveLength(entries.length);
  expect(changedLines(document.replace(SUMMARY_BEGIN, ''))).toBeUndefined();
});

test('the live line follows the edit, and warns when the context would grow', () => {
  const { contextSizeBefore: before, contextSizeAfter: after } = result;
  const less = (tokens: number): string => `${Math.round(((before - tokens) / before) * 100)}% less`;
  expect(previewLine(result, result.summary)).toBe(`${before} → ${after} (${less(after)})`);
  expect(previewLine(result, `${result.summary}${'x'.repeat(400)}`)).toBe(`${before} → ≈${after + 100} (${less(after + 100)})`);
  expect(previewLine(result, 'x'.repeat(8_000))).toContain('larger than what it replaces');
  expect(sizeWith(result, '')).toBeGreaterThanOrEqual(0);
});
