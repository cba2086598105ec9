import { expect, test } from 'vitest';

import type { Health } from '../../src/health';
import { statusView, type StatusInput } from '../../src/statusText';
import { compaction, running, usage } from './samples';

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
