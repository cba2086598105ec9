import { expect, test } from 'vitest';

import { Heights } from '../../../src/view/page/heights';
import { anchorAt, scrollToShow, windowAt } from '../../../src/view/page/window';

/** Heights that vary without randomness. */
const sample = (count: number): number[] => Array.from({ length: count }, (_, i) => 20 + ((i * 37) % 61));

function fill(values: readonly number[]): Heights {
  const heights = new Heights();
  for (const value of values) heights.push(value);
  return heights;
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

test('sums are those of adding up, after any pushes, changes and cuts', () => {
  for (const count of [0, 1, 2, 3, 7, 8, 9, 64, 100]) {
    const values = sample(count);
    const heights = fill(values);
    for (let row = 0; row < count; row += 3) heights.set(row, (values[row] = 5 + row));
    heights.truncate(Math.ceil(count / 2));
    values.length = Math.ceil(count / 2);
    for (const more of sample(5)) {
      values.push(more);
      heights.push(more);
    }
    for (let row = 0; row <= values.length; row += 1) expect(heights.top(row)).toBe(sum(values.slice(0, row)));
    expect(heights.total).toBe(sum(values));
  }
});

test('every y lies in the row that begins above it and ends below', () => {
  const values = sample(50);
  const heights = fill(values);
  for (let y = 0; y < heights.total; y += 7) {
    const row = heights.at(y);
    expect(heights.top(row)).toBeLessThanOrEqual(y);
    expect(heights.top(row + 1)).toBeGreaterThan(y);
  }
  expect(heights.at(-5)).toBe(0);
  expect(heights.at(heights.total + 5)).toBe(49);
  expect(new Heights().at(0)).toBe(-1);
});

test('a window holds the rows in view and no more than the overscan beyond', () => {
  const heights = fill(sample(10_000));
  const { start, end } = windowAt(heights, 50_000, 600, 400);
  expect(heights.top(start)).toBeLessThanOrEqual(49_600);
  expect(heights.top(start + 1)).toBeGreaterThan(49_600);
  expect(heights.top(end)).toBeGreaterThanOrEqual(51_000);
  expect(end - start).toBeLessThan(80);
  expect(windowAt(new Heights(), 0, 600, 400)).toEqual({ start: 0, end: 0 });
});

test('an anchor names the row at the top and how far it is scrolled', () => {
  const heights = fill([100, 100, 100]);
  expect(anchorAt(heights, (row) => `row ${row}`, 130)).toEqual({ key: 'row 1', offset: 30 });
  expect(anchorAt(new Heights(), () => undefined, 0)).toBeUndefined();
});

test('showing a row scrolls no further than needed', () => {
  const heights = fill([100, 100, 100, 100, 500]);
  expect(scrollToShow(heights, 1, 50, 200)).toBe(50);
  expect(scrollToShow(heights, 0, 50, 200)).toBe(0);
  expect(scrollToShow(heights, 3, 50, 200)).toBe(200);
  expect(scrollToShow(heights, 4, 0, 200)).toBe(400);
});
