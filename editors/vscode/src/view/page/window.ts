/** Which rows are worth having in the document, from where the list is scrolled to. Pure; pixels. */
import type { Heights } from './heights';

/** Rows `[start, end)`. */
export interface Window {
  readonly start: number;
  readonly end: number;
}

/** The rows in view, and so many pixels of rows above and below that a turn of the wheel meets no gap. */
export function windowAt(heights: Heights, scrollTop: number, viewport: number, overscan: number): Window {
  if (heights.length === 0) return { start: 0, end: 0 };
  const start = heights.at(Math.max(0, scrollTop - overscan));
  const end = heights.at(Math.max(0, scrollTop + viewport + overscan)) + 1;
  return { start, end };
}

/** What stays in place while rows around it change: a row, and how far the view's top lies below the row's. */
export interface Anchor {
  readonly key: string;
  readonly offset: number;
}

/** The row at the view's top. */
export function anchorAt(heights: Heights, keys: (row: number) => string | undefined, scrollTop: number): Anchor | undefined {
  const row = heights.at(scrollTop);
  const key = keys(row);
  return key === undefined ? undefined : { key, offset: scrollTop - heights.top(row) };
}

/** Where to scroll so that a row is wholly in view, moving no further than needed. */
export function scrollToShow(heights: Heights, row: number, scrollTop: number, viewport: number): number {
  const top = heights.top(row);
  const bottom = top + heights.get(row);
  if (top < scrollTop || bottom - top > viewport) return top;
  return bottom > scrollTop + viewport ? bottom - viewport : scrollTop;
}
