import { describe, expect, test } from 'vitest';

import { changedLines, outsideOf, previewDocument, previewLine, sizeWith, SUMMARY_BEGIN, summaryOf } from '../../src/documents';
import * as protocol from '../../src/protocol.gen';
import type { CompactResult, MessagesResult } from '../../src/protocol.gen';
import { statusView, tooltipMarkdown } from '../../src/statusBar';
import { messageLine, messageMarkdown } from '../../src/words';
import { example, exampleNames, running, usage } from './support';

describe('the preview', () => {
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
});

describe('every committed example of the wire', () => {
  /** What a text contains if a missing member was read. */
  const HOLES = /undefined|NaN|\[object Object\]/;

  /** Returns what the user sees of an update. The compiler checks the type of every file (`tests/golden`). */
  function shown({ update }: protocol.SessionNotification): string {
    switch (update.sessionUpdate) {
      case 'usage_update':
        return shownUsage(update.used, update.size, update._meta?.ullage);
      case 'session_info_update':
        return update.title ?? shownUsage(0, null, update._meta?.ullage);
      case 'compaction_update':
        return `${update.status} ${update.summary?.map((part) => part.text).join('') ?? update.error ?? ''}`;
      case 'compaction_summary_chunk':
        return update.content.text;
      case 'notice':
        return `${update.severity} ${update.title}`;
      case 'user_message_chunk':
      case 'agent_message_chunk':
      case 'agent_thought_chunk':
      case 'tool_call':
      case 'tool_call_update':
        // Only another client of the server asks a model; its answer is shown from the transcript.
        return update.sessionUpdate;
    }
  }

  function shownUsage(used: number, size: number | null, meta: protocol.UsageMeta | undefined): string {
    if (!meta) throw new Error('the update came without its figures');
    const state = usage({ used, size, meta });
    const view = statusView({ health: running, usage: state, compaction: undefined, done: undefined });
    return [view.text, view.label, tooltipMarkdown(state, undefined, 0)].join('\n');
  }

  test.each(exampleNames('update.'))('%s is narrowed by its tag and shown without a hole', (name) => {
    const text = shown(example(name) as protocol.SessionNotification);
    expect(text.trim()).not.toBe('');
    expect(text).not.toMatch(HOLES);
  });

  test.each(exampleNames('context.messages.').filter((name) => name.endsWith('result.json')))('%s reads as text', (name) => {
    const { entries } = example(name) as protocol.MessagesResult;
    expect(entries).not.toHaveLength(0);
    for (const entry of entries) {
      expect(messageMarkdown(entry.message).trim()).not.toBe('');
      expect(messageLine(entry)).not.toMatch(HOLES);
    }
  });

  test('a preview shows its summary where the user can edit it', () => {
    const result = example('context.compact.preview.result.json') as protocol.CompactResult;
    const { entries } = example('context.messages.result.json') as protocol.MessagesResult;
    const document = previewDocument({ result, entries, title: 'Story', copyOf: '' });
    expect(summaryOf(document)).toBe(result.summary.trim());
    expect(document).not.toMatch(HOLES);
  });

  test('every method of ours has an example of its params', () => {
    const names = Object.values(protocol).flatMap((value) => ('name' in value && typeof value.name === 'string' ? [value.name] : []));
    const asked = names.filter((name) => name !== protocol.SessionUpdate.name);
    expect(asked).not.toHaveLength(0);
    for (const name of asked) {
      const file = `${name.replace('ullage/', '').replaceAll('/', '.')}.params.json`;
      expect(exampleNames(file)).toEqual([file]);
    }
  });
});
