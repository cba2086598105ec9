/** Which rows should be in the document, depending on where the list is scrolled to. Pure; pixels. */
import type { Heights } from './heights';

/** Rows `[start, end)`. */
export interface Window {
  readonly start: number;
  readonly end: number;
}

/** Returns the rows in view and `overscan` pixels of rows before and after, so that scrolling shows no gap. */
export function windowAt(heights: Heights, scrollTop: number, viewport: number, overscan: number): Window {
  if (heights.length === 0) return { start: 0, end: 0 };
  const start = heights.at(Math.max(0, scrollTop - overscan));
  const end = heights.at(Math.max(0, scrollTop + viewport + overscan)) + 1;
  return { start, end };
}

/** What stays in place while rows around it change: a row, and the distance from the row's top to the view's top. */
export interface Anchor {
  readonly key: string;
  readonly offset: number;
}

/** Returns the row at the view's top. */
export function anchorAt(heights: Heights, keys: (row: number) => string | undefined, scrollTop: number): Anchor | undefined {
  const row = heights.at(scrollTop);
  const key = keys(row);
  return key === undefined ? undefined : { key, offset: scrollTop - heights.top(row) };
}

/** Returns where to scroll so that a row is wholly in view, moving as little as possible. */
export function scrollToShow(heights: Heights, row: number, scrollTop: number, viewport: number): number {
  const top = heights.top(row);
  const bottom = top + heights.get(row);
  if (top < scrollTop || bottom - top > viewport) return top;
  return bottom > scrollTop + viewport ? bottom - viewport : scrollTop;
}
