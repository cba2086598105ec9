import { expect, test } from 'vitest';

import { escapeMarkdown, tooltipMarkdown } from '../../src/tooltip';
import { edit, usage } from './samples';

const NOW = 1_012_000;

test('it says session, gauge, parts largest first, source, last compaction and links', () => {
  const text = tooltipMarkdown(usage(), edit({ timestamp: NOW - 7_200_000 }), NOW);
  expect(text).toContain('**fix\\-login** · claude\\-sonnet\\-4\\-5');
  expect(text).toContain('` 46% of the window');
  expect(text).toContain('58,432 of 128,000 tokens · 54% of the 108,000 usable · compacts at 97K');
  const rows = [...text.matchAll(/^\| ([a-z ]+) \|/gm)].map(([, kind]) => kind?.trim());
  expect(rows.filter(Boolean)).toEqual(['messages', 'tool results', 'tools', 'system prompt', 'summary']);
  expect(text).toContain('Reported by the provider 12 s ago');
  expect(text).toContain('Compacted 2 hours ago (automatic), saved 122K');
  expect(text).toContain('(command:ullage.compactContext)');
});

test('a figure that is not a report says so', () => {
  expect(tooltipMarkdown(usage({ meta: { source: 'estimated' } }), undefined, NOW)).toContain('Estimated, ±4 %');
  expect(tooltipMarkdown(usage({ meta: { source: 'estimated', errorShare: null } }), undefined, NOW)).not.toContain('±');
  const stale = tooltipMarkdown(usage({ meta: { source: 'stale', pendingMessages: 3 } }), undefined, NOW);
  expect(stale).toContain('Stale: 3 messages since the last report');
});

test('the cost is shown if it is known', () => {
  const text = tooltipMarkdown(usage({ cost: { amount: 0.0421, currency: 'USD' } }), undefined, NOW);
  expect(text).toContain('Cost so far \\$0\\.042, by list prices');
  expect(tooltipMarkdown(usage(), undefined, NOW)).not.toContain('Cost');
});

test('where no limit is known there is no bar, and a link to set it', () => {
  const text = tooltipMarkdown(usage({ size: null, meta: { compactAt: null } }), undefined, NOW);
  expect(text).not.toContain('┊');
  expect(text).toContain('(command:ullage.setWindow)');
});

test('a title cannot become a link, a picture or a command', () => {
  expect(escapeMarkdown('[x](command:evil) ![y](z) <b>\n$(bug)')).toBe(
    '\\[x\\]\\(command:evil\\) \\!\\[y\\]\\(z\\) \\<b\\> \\$\\(bug\\)',
  );
});
