import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import type { Health } from '../../src/health';
import { Coalesced, escapeMarkdown, type StatusInput, statusView, tooltipMarkdown } from '../../src/statusBar';
import { compaction, edit, running, usage } from './support';

describe('the text', () => {
  function view(changes: Partial<StatusInput>): ReturnType<typeof statusView> {
    return statusView({ health: running, usage: undefined, compaction: undefined, done: undefined, ...changes });
  }

  test('without a session it offers to open one', () => {
    expect(view({})).toMatchObject({ text: 'Ullage', tone: 'dimmed', command: 'ullage.showAgents' });
  });

  test('a reported figure is plain, one that was counted here has a tilde', () => {
    expect(view({ usage: usage() }).text).toBe('◔ 46% · 58K/128K');
    expect(view({ usage: usage({ meta: { source: 'estimated' } }) }).text).toBe('◔ ~46% · 58K/128K');
    expect(view({ usage: usage({ meta: { source: 'stale' } }) }).text).toBe('◔ ~46% · 58K/128K');
  });

  test("colours follow the server's level, with words beside them", () => {
    const near = { used: 164_000, size: 200_000 };
    const warning = view({ usage: usage({ ...near, meta: { level: 'warning', compactAt: 172_000 } }) });
    expect(warning).toMatchObject({ text: '◕ 82% of 200K · compacts at 86%', tone: 'warning' });
    expect(warning.label).toContain('Warning');
    expect(view({ usage: usage({ ...near, meta: { level: 'critical' } }) }).tone).toBe('error');
  });

  test('while it compacts a click cancels', () => {
    const busy = view({ usage: usage(), compaction });
    expect(busy).toMatchObject({ text: '$(sync~spin) Compacting… 45 messages', command: 'ullage.cancelCompaction' });
    const writing = view({ usage: usage(), compaction: { ...compaction, text: 'x'.repeat(1_127) } });
    expect(writing.text).toBe('$(sync~spin) Compacting… 45 messages · 1.1K characters');
  });

  test('what a compaction did is shown for a while', () => {
    expect(view({ usage: usage(), done: { before: 164_000, after: 31_000 } }).text).toBe('✓ 164K → 31K');
  });

  test('an unknown limit is said, and a click sets it', () => {
    const unknown = view({ usage: usage({ size: null, meta: { level: 'off', compactAt: null } }) });
    expect(unknown).toMatchObject({ text: '58K · limit unknown', command: 'ullage.setWindow' });
  });

  test.each<[Health, string, string]>([
    [{ kind: 'stopped', reason: 'why' }, 'Ullage: stopped', 'error'],
    [{ kind: 'missing', reason: 'why', fixable: true, lacksPython: false }, 'Ullage: not set up', 'dimmed'],
    [{ kind: 'restarting', attempt: 1 }, 'Ullage: restarting…', 'dimmed'],
    [{ kind: 'installing' }, 'Ullage: setting up…', 'dimmed'],
    [{ kind: 'starting' }, 'Ullage: starting…', 'dimmed'],
  ])('the server being %o is visible', (health, text, tone) => {
    const shown = view({ health, usage: usage() });
    expect(shown.text).toContain(text);
    expect(shown.tone).toBe(tone);
  });
});

describe('the hover', () => {
  const NOW = 1_012_000;

  test('it says session, gauge, parts largest first, source, last compaction and links', () => {
    const text = tooltipMarkdown(usage(), edit({ timestamp: NOW - 7_200_000 }), NOW);
    expect(text).toContain('**fix\\-login** · claude\\-sonnet\\-4\\-5');
    expect(text).toContain('` 46% of the window');
    expect(text).toContain('58,432 of 128,000 tokens · compacts at 97K (76%)');
    const rows = [...text.matchAll(/^\| ([a-z ]+) \|/gm)].map(([, kind]) => kind?.trim());
    expect(rows.filter(Boolean)).toEqual(['messages', 'tool results', 'tools', 'system prompt']);
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
});

describe('drawing at most once per interval', () => {
  beforeEach(() => { vi.useFakeTimers(); });
  afterEach(() => { vi.useRealTimers(); });

  test('a thousand updates in a second are painted at most once per interval, the last one always', () => {
    let latest = 0;
    const painted: number[] = [];
    const paint = new Coalesced(() => painted.push(latest), 50);
    for (latest = 1; latest <= 1_000; latest += 1) {
      paint.request();
      vi.advanceTimersByTime(1);
    }
    latest = 1_000;
    vi.advanceTimersByTime(50);
    expect(painted.length).toBeLessThanOrEqual(21);
    expect(painted[0]).toBe(1);
    expect(painted.at(-1)).toBe(1_000);
  });

  test('an update after a pause is painted at once', () => {
    const work = vi.fn();
    const paint = new Coalesced(work, 50);
    paint.request();
    vi.advanceTimersByTime(60);
    paint.request();
    expect(work).toHaveBeenCalledTimes(2);
  });

  test('nothing is painted after disposal', () => {
    const work = vi.fn();
    const paint = new Coalesced(work, 50);
    paint.request();
    paint.request();
    paint.dispose();
    vi.advanceTimersByTime(100);
    expect(work).toHaveBeenCalledTimes(1);
  });
});
