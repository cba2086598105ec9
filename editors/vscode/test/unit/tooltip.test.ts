import { expect, test } from 'vitest';

import { escapeMarkdown, tooltipMarkdown } from '../../src/tooltip';
import { edit, usage } from './samples';

const NOW = 1_012_000;

test('it says session, gauge, parts largest first, source, last compaction and links', () => {
  const text = tooltipMarkdown(usage(), edit({ timestamp: NOW - 7_200_000 }), NOW);
  expect(text).toContain('**fix\\-login** · claude\\-sonnet\\-4\\-5');
  expect(text).toContain('` 46% of the window');
  expect(text).toContain('58,432 of 128,000 tokens · compacts at 97K (76%)');
  const rows = [...text.matchAll(/^\| ([a-z ]+) \|/gm)].map(([, kind]) => kind?.trim());
  expect(rows.filter(Boolean)).toEqual(['messages', 'tool results', 'tools', 'system prompt', 'summary']);
  expect(text).toContain('Reported by the provider 12 seconds ago');
  expect(text).toContain('Compacted 2 hours ago (automatic), saved 122K');
  expect(text).toContain('(command:ullage.compactContext)');
});

test('a figure that is not a report says so', () => {
  expect(tooltipMarkdown(usage({ meta: { source: 'estimated' } }), undefined, NOW)).toContain('Estimated, ±4%');
  expect(tooltipMarkdown(usage({ meta: { source: 'estimated', errorShare: null } }), undefined, NOW)).not.toContain('±');
  const stale = tooltipMarkdown(usage({ meta: { source: 'stale', pendingMessages: 3 } }), undefined, NOW);
  expect(stale).toContain('Reported by the provider, and 3 messages counted since, as of 12 seconds ago');
});

test('the cost is shown if it is known', () => {
  const text = tooltipMarkdown(usage({ cost: { amount: 0.0421, currency: 'USD' } }), undefined, NOW);
  expect(text).toContain('Cost so far \\$0\\.042, by list prices');
  expect(tooltipMarkdown(usage(), undefined, NOW)).not.toContain('Cost');
});

test('it says how window and place of compaction are known, and what speaks against it', () => {
  const text = tooltipMarkdown(usage(), undefined, NOW);
  expect(text).toContain('Window: the list of models: claude\\-sonnet\\-4\\-5');
  expect(text).toContain('About 9 calls of the model \\(4 to 20\\) until it compacts');
  const window = { size: 200_000, source: 'rule', basis: 'Claude Code has 200,000', contradiction: 'a prompt had 300,000' } as const;
  const threshold = { tokens: 167_000, percent: 84, source: 'learned', basis: 'its own compactions', times: 3 } as const;
  const copy = tooltipMarkdown(usage({ meta: { window, threshold, managedBy: 'agent', agent: 'Claude Code' } }), undefined, NOW);
  expect(copy).toContain('But a prompt had 300,000');
  expect(copy).toContain('its own compactions \\(3×\\)');
  expect(copy).toContain('A copy of Claude Code’s conversation');
});

test('of a copy it says that compacting changes only the copy', () => {
  const copy = tooltipMarkdown(usage({ meta: { managedBy: 'agent', agent: 'Claude Code' } }), undefined, NOW);
  expect(copy).toContain('A copy of Claude Code’s conversation; compacting it here changes only the copy');
  expect(copy).toContain('[Compact this copy](command:ullage.compactContext)');
  expect(copy).not.toContain('Compact now');
});

test('a context that has reached the threshold compacts with the next call', () => {
  const text = tooltipMarkdown(usage({ meta: { callsLeft: { low: 0, mean: 0, high: 0 } } }), undefined, NOW);
  expect(text).toContain('Compacts with the next call of the model');
  expect(text).not.toContain('About 0');
});

test('one share of one whole is shown, the window', () => {
  const text = tooltipMarkdown(usage(), undefined, NOW);
  expect(text).not.toContain('usable');
});

test('an edit of another program, of which no size is known, has not “saved 0”', () => {
  expect(tooltipMarkdown(usage(), edit({ tokensSaved: 0 }), NOW)).not.toContain('saved');
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
