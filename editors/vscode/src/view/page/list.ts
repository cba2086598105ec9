/**
 * The heights of all rows, measured or estimated, as sums that answer two questions in logarithmic time: where does row
 * i begin, and which row is at y? The sums are a Fenwick tree, so that adding a row costs the same after 10,000 rows as
 * after 100. Pixels.
 */
import { setAttribute, setProperty } from './dom';

export class Heights {
  #values: number[] = [];
  /** `#sums[i]` is the sum of the `i & -i` heights that end with row `i - 1`. */
  #sums: number[] = [0];

  get length(): number {
    return this.#values.length;
  }

  get total(): number {
    return this.top(this.#values.length);
  }

  get(row: number): number {
    return this.#values[row] ?? 0;
  }

  push(height: number): void {
    this.#values.push(height);
    const i = this.#values.length;
    let sum = height;
    for (let below = i - 1; below > i - (i & -i); below -= below & -below) sum += this.#sums[below] ?? 0;
    this.#sums.push(sum);
  }

  set(row: number, height: number): void {
    const change = height - this.get(row);
    if (row >= this.#values.length || change === 0) return;
    this.#values[row] = height;
    for (let i = row + 1; i < this.#sums.length; i += i & -i) this.#sums[i] = (this.#sums[i] ?? 0) + change;
  }

  /** Keeps the first `length` rows. */
  truncate(length: number): void {
    this.#values.length = Math.min(length, this.#values.length);
    this.#sums.length = this.#values.length + 1;
  }

  /** Returns the height of all rows before `row`. */
  top(row: number): number {
    let sum = 0;
    for (let i = Math.min(row, this.#values.length); i > 0; i -= i & -i) sum += this.#sums[i] ?? 0;
    return sum;
  }

  /** Returns the row at `y`: the first row for smaller values, the last row for larger ones, -1 without rows. */
  at(y: number): number {
    let row = 0;
    let left = y;
    for (let step = highestBit(this.#values.length); step > 0; step >>= 1) {
      const sum = this.#sums[row + step];
      if (sum !== undefined && sum <= left) {
        row += step;
        left -= sum;
      }
    }
    return Math.min(row, this.#values.length - 1);
  }
}

function highestBit(value: number): number {
  return value === 0 ? 0 : 1 << (31 - Math.clz32(value));
}

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

/** Pixels drawn before and after the view. */
const OVERSCAN = 400;
/** Pixels. A view this near to the end counts as being at the end, and stays there. */
const END_SLACK = 24;
/** Newly measured rows may move the window. It settles at once or, with very uneven rows, after a second pass. */
const MAX_PASSES = 4;

export interface ListRow {
  readonly key: string;
}

export interface ListOptions<R extends ListRow> {
  readonly draw: (row: R) => HTMLElement;
  /** Estimates the pixels of a row before it is measured. */
  readonly estimate: (row: R) => number;
  /** Called with the first row in the document after each drawing. */
  readonly drawn: (start: number) => void;
}

interface Drawn<R> {
  readonly row: R;
  readonly element: HTMLElement;
}

export class VirtualList<R extends ListRow> {
  readonly #scroller: HTMLElement;
  readonly #content: HTMLElement;
  readonly #options: ListOptions<R>;
  readonly #heights = new Heights();
  readonly #measured = new Map<string, number>();
  readonly #drawn = new Map<string, Drawn<R>>();
  readonly #resized: ResizeObserver;
  #rows: readonly R[] = [];
  #active: string | undefined;
  #sticks = true;
  #frame = 0;
  /** Where the list itself scrolled to last. Any other position was scrolled to by the user. */
  #scrolledTo = -1;
  /** The scroller's height then. A scroller whose height has changed since may have moved by itself. */
  #heightThen = -1;
  /** The rows in the document. */
  #shown: Window = { start: 0, end: 0 };

  constructor(scroller: HTMLElement, content: HTMLElement, options: ListOptions<R>) {
    this.#scroller = scroller;
    this.#content = content;
    this.#options = options;
    this.#resized = new ResizeObserver(() => this.#remeasure());
    this.#resized.observe(scroller);
    scroller.addEventListener('scroll', () => this.#scrolled(), { passive: true });
  }

  /** Makes a row the tab stop. */
  setActive(key: string): void {
    if (key === this.#active) return;
    this.#active = key;
    this.#markRows();
  }

  /** Whether the view is at the end, and so follows what is added. */
  get sticks(): boolean {
    return this.#sticks;
  }

  get anchor(): Anchor | undefined {
    return anchorAt(this.#heights, (row) => this.#rows[row]?.key, this.#scroller.scrollTop);
  }

  /** Shows these rows. Those from `from` on differ from the previous rows. */
  show(rows: readonly R[], from: number): void {
    const anchor = this.anchor;
    const anchorRow = this.#heights.at(this.#scroller.scrollTop);
    this.#heights.truncate(from);
    this.#rows = rows;
    for (let i = from; i < rows.length; i += 1) this.#heights.push(this.#heightOf(rows[i] as R));
    this.#render();
    if (!this.#sticks && anchor && from <= anchorRow) this.restore(anchor);
  }

  /** Draws one row again, if it is in the document. */
  redraw(key: string): void {
    if (!this.#drawn.has(key)) return;
    const focused = this.#drawn.get(key)?.element.contains(document.activeElement) ?? false;
    this.#remove(key);
    this.#render();
    if (focused) this.#drawn.get(key)?.element.focus({ preventScroll: true });
  }

  /** Draws every row again that is in the document. */
  redrawAll(): void {
    for (const key of [...this.#drawn.keys()]) this.redraw(key);
  }

  element(key: string): HTMLElement | undefined {
    return this.#drawn.get(key)?.element;
  }

  /** Scrolls to where a row was left. Returns false if the row does not exist. */
  restore(anchor: Anchor): boolean {
    const row = this.#rows.findIndex((each) => each.key === anchor.key);
    if (row < 0) return false;
    this.#scrollTo(this.#heights.top(row) + anchor.offset);
    return true;
  }

  scrollToEnd(): void {
    this.#sticks = true;
    this.#setTop(this.#scroller.scrollHeight);
    this.#render();
  }

  /** Brings a row into view, makes it the tab stop and, if asked, focuses it. */
  activate(row: number, focus: boolean): void {
    const next = this.#rows[Math.max(0, Math.min(row, this.#rows.length - 1))];
    if (!next) return;
    this.#active = next.key;
    for (let pass = 0; pass < MAX_PASSES; pass += 1) {
      const place = this.#rows.indexOf(next);
      const top = scrollToShow(this.#heights, place, this.#scroller.scrollTop, this.#scroller.clientHeight);
      if (pass > 0 && Math.abs(top - this.#scroller.scrollTop) < 1) break;
      this.#scrollTo(top);
    }
    if (focus) this.#drawn.get(next.key)?.element.focus({ preventScroll: true });
  }

  activeRow(): number {
    return this.#rows.findIndex((row) => row.key === this.#active);
  }

  /** The number of rows that Page Up and Page Down move. */
  get pageRows(): number {
    const top = this.#heights.at(this.#scroller.scrollTop);
    return Math.max(1, this.#heights.at(this.#scroller.scrollTop + this.#scroller.clientHeight) - top - 1);
  }

  #scrollTo(top: number): void {
    this.#setTop(top);
    this.#noteEnd();
    this.#render();
  }

  #setTop(top: number): void {
    this.#scroller.scrollTop = top;
    this.#scrolledTo = this.#scroller.scrollTop;
    this.#heightThen = this.#scroller.clientHeight;
  }

  #scrolled(): void {
    const { scrollTop, clientHeight } = this.#scroller;
    if (clientHeight === this.#heightThen && Math.abs(scrollTop - this.#scrolledTo) >= 1) this.#noteEnd();
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#render();
    });
  }

  #noteEnd(): void {
    const { scrollTop, clientHeight, scrollHeight } = this.#scroller;
    this.#sticks = scrollHeight - clientHeight - scrollTop <= END_SLACK;
  }

  #heightOf(row: R): number {
    return this.#measured.get(row.key) ?? this.#options.estimate(row);
  }

  /** Draws the rows that belong in the document and measures the new ones, until measuring asks for no other rows. */
  #render(): void {
    for (let pass = 0; pass < MAX_PASSES; pass += 1) {
      this.#shown = this.#window();
      const moved = this.#measure(this.#place());
      this.#pad();
      if (this.#sticks) this.#setTop(this.#scroller.scrollHeight);
      else if (moved !== 0) this.#setTop(this.#scroller.scrollTop + moved);
      const next = this.#window();
      if (next.start >= this.#shown.start && next.end <= this.#shown.end) break;
    }
    this.#markRows();
    this.#options.drawn(this.#shown.start);
  }

  #window(): Window {
    return windowAt(this.#heights, this.#scroller.scrollTop, this.#scroller.clientHeight, OVERSCAN);
  }

  /** Sets the space for the rows that are not in the document. */
  #pad(): void {
    const { start, end } = this.#shown;
    setProperty(this.#content, '--before', `${this.#heights.top(start)}px`);
    setProperty(this.#content, '--after', `${this.#heights.total - this.#heights.top(end)}px`);
  }

  /** Puts the window's rows into the document, in order, and removes others. Returns the positions of the newly drawn rows. */
  #place(): number[] {
    const { start, end } = this.#shown;
    const wanted = new Set<string>();
    for (let i = start; i < end; i += 1) wanted.add(this.#rows[i]?.key ?? '');
    for (const key of [...this.#drawn.keys()]) if (!wanted.has(key) && !this.#keepsFocus(key)) this.#remove(key);
    const fresh: number[] = [];
    let next = this.#content.firstElementChild;
    for (let i = start; i < end; i += 1) {
      const row = this.#rows[i] as R;
      const known = this.#drawn.get(row.key);
      if (known?.row === row && known.element === next) next = next.nextElementSibling;
      else if (known?.row === row) this.#content.insertBefore(known.element, next);
      else {
        if (known && known.element === next) next = next.nextElementSibling;
        this.#content.insertBefore(this.#draw(row), next);
        fresh.push(i);
      }
      this.#drawn.get(row.key)?.element.classList.remove('away');
    }
    return fresh;
  }

  #draw(row: R): HTMLElement {
    const focused = this.#drawn.get(row.key)?.element.contains(document.activeElement) ?? false;
    this.#remove(row.key);
    const element = this.#options.draw(row);
    this.#drawn.set(row.key, { row, element });
    this.#resized.observe(element);
    if (focused) queueMicrotask(() => element.focus({ preventScroll: true }));
    return element;
  }

  #remove(key: string): void {
    const drawn = this.#drawn.get(key);
    if (!drawn) return;
    this.#resized.unobserve(drawn.element);
    this.#drawn.delete(key);
    drawn.element.remove();
  }

  /** A focused row that scrolls out of view stays in the document, out of sight, or the focus would be lost. */
  #keepsFocus(key: string): boolean {
    const element = this.#drawn.get(key)?.element;
    const keeps = element?.contains(document.activeElement) ?? false;
    if (keeps) element?.classList.add('away');
    return keeps && this.#rows.some((row) => row.key === key);
  }

  /** Measures rows. Returns by how many pixels those that begin before the view have grown. */
  #measure(places: readonly number[]): number {
    const viewRow = this.#heights.at(this.#scroller.scrollTop);
    let moved = 0;
    for (const place of places) {
      const row = this.#rows[place] as R;
      const height = this.#drawn.get(row.key)?.element.offsetHeight ?? 0;
      if (height === 0) continue;
      if (place < viewRow) moved += height - this.#heights.get(place);
      this.#measured.set(row.key, height);
      this.#heights.set(place, height);
    }
    return moved;
  }

  /** Measures rows in the document whose size changed by itself: they were opened, or the view's width changed. */
  #remeasure(): void {
    this.#heightThen = this.#scroller.clientHeight;
    const places: number[] = [];
    for (let i = this.#shown.start; i < this.#shown.end; i += 1) places.push(i);
    const moved = this.#measure(places);
    if (moved !== 0 && !this.#sticks) this.#setTop(this.#scroller.scrollTop + moved);
    this.#render();
  }

  #markRows(): void {
    if (!this.#active || !this.#drawn.has(this.#active)) this.#active = this.#rows[this.#rows.length - 1]?.key;
    for (const [key, { element }] of this.#drawn) setAttribute(element, 'tabindex', key === this.#active ? 0 : -1);
    let place = this.#shown.start;
    for (const element of this.#content.children) {
      if (element.classList.contains('away')) continue;
      place += 1;
      setAttribute(element, 'aria-posinset', place);
      setAttribute(element, 'aria-setsize', this.#rows.length);
    }
  }
}
