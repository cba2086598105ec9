import { describe, expect, test } from 'vitest';

import type { Entry, Message } from '../../src/protocol.gen';
import { bar } from '../../src/statusBar';
import {
  ago,
  asLabel,
  entryName,
  full,
  messageLine,
  messages,
  money,
  oneLine,
  percent,
  plainText,
  short,
  shrinking,
} from '../../src/words';

describe('figures', () => {
  test.each([
    [0, '0'],
    [950, '950'],
    [4_200, '4.2K'],
    [9_949, '9.9K'],
    [9_950, '10K'],
    [58_432, '58K'],
    [999_499, '999K'],
    [999_500, '1M'],
    [1_240_000, '1.2M'],
  ])('%i tokens are short for %s', (tokens, text) => {
    expect(short(tokens)).toBe(text);
  });

  test('figures with room are grouped', () => {
    expect(full(58_432)).toBe('58,432');
    expect(messages(1)).toBe('1 message');
    expect(messages(1_200)).toBe('1,200 messages');
    expect(shrinking(164_000, 31_000)).toBe('164K → 31K');
  });

  test('a share is a whole number, and nothing of nothing is none', () => {
    expect(percent(58, 128)).toBe(45);
    expect(percent(0, 0)).toBe(0);
  });

  test.each([
    [0, 'just now'],
    [12_000, '12 seconds ago'],
    [60_000, '1 minute ago'],
    [2 * 3_600_000, '2 hours ago'],
    [50 * 3_600_000, '2 days ago'],
    [282 * 86_400_000, '9 months ago'],
    [800 * 86_400_000, '2 years ago'],
  ])('%i ms earlier is %s', (elapsed, text) => {
    expect(ago(1_000, 1_000 + elapsed)).toBe(text);
  });

  test('a cost has its currency, and three digits where it is small', () => {
    expect(money({ amount: 0.0421, currency: 'USD' })).toBe('$0.042');
    expect(money({ amount: 12.3, currency: 'USD' })).toBe('$12.30');
    expect(money({ amount: 2, currency: 'EUR' })).toBe('2.00 EUR');
  });

  test('long text becomes one line of the length asked for', () => {
    expect(oneLine(' a\n\tb ')).toBe('a b');
    expect(oneLine('x'.repeat(20), 5)).toBe('xxxx…');
  });

  test('the bar has its cells and the mark where compaction comes', () => {
    expect(bar(124, 200, 162)).toBe('▓▓▓▓▓▓▓▓▓▓▓▓░░░░┊░░░░');
    expect(bar(0, 200, null)).toBe('░'.repeat(20));
    expect(bar(500, 200, 500)).toBe(`${'▓'.repeat(20)}┊`);
  });
});

describe('foreign text in labels', () => {
  test.each([
    ['**spotter-4te** is *done*', 'spotter-4te is done'],
    ['## Task\n\nFix `a.py`', 'Task\nFix a.py'],
    ['```py\nprint(1)\n```', 'print(1)'],
    ['see [the docs](https://example.org/a_b)', 'see the docs'],
    ['<command-name>/clear</command-name>', '/clear'],
    ['<local-command-stdout>Bye!</local-command-stdout>', 'Bye!'],
    ['\u001b[2mCompacted\u001b[22m (ctrl+o)', 'Compacted (ctrl+o)'],
    ['a < b and c > d, snake_case and 2 * 3 * 4', 'a < b and c > d, snake_case and 2 * 3 * 4'],
    ['<div>kept</div>', '<div>kept</div>'],
    ['> said\n- item', 'said\n- item'],
    ['| a | b |\n|---|:-:|\n| 1 | 2 |', 'a | b\n1 | 2'],
    ['one\n<task-id>7</task-id>\n  code', 'one\n7\n  code'],
  ])('%j is shown as %j', (text, plain) => {
    expect(plainText(text)).toBe(plain);
  });

  test('a title with an icon in it is text in a label', () => {
    expect(asLabel('$(flame) hot $ (x)')).toBe('\\$(flame) hot $ (x)');
  });
});

describe('messages as text', () => {
  const said: Message = { id: 'm86', role: 'assistant', content: [{ type: 'text', text: 'The limit is in retry.py.' }] };
  const entry: Entry = { message: said, index: 85, tokens: 9, archived: false, pinned: false, inserted: false, byAgent: false };
  const summary = { type: 'context_compaction' as const, summary: 'Short.', compaction_number: 1, timestamp: 0, messages_archived: 4, context_size_before: 9_000 };

  test('a message has the number that summaries and the command line give it: one more than its index', () => {
    expect(entryName(entry)).toBe('#86 assistant');
    expect(messageLine(entry)).toBe('#86 assistant  The limit is in retry.py.');
  });

  test('what the agent’s program wrote as the user is not the user’s', () => {
    const prompt: Entry = { ...entry, message: { ...said, role: 'user' } };
    expect(entryName(prompt)).toBe('#86 you');
    expect(entryName({ ...prompt, byAgent: true })).toBe('#86 agent');
  });

  test('what an edit put into the context has no number, since it would be the number of another message', () => {
    expect(entryName({ ...entry, inserted: true, message: { ...said, role: 'user', content: [summary] } })).toBe('summary');
    expect(entryName({ ...entry, inserted: true, message: { ...said, role: 'user' } })).toBe('notice');
  });
});
