import { expect, test } from 'vitest';

import { bar } from '../../src/tooltip';
import { ago, full, messages, money, oneLine, percent, short, shrinking } from '../../src/figures';

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
