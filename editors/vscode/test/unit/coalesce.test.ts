import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { Coalesced } from '../../src/coalesce';

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
