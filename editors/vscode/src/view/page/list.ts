/**
 * The list of rows: those at the end of a long conversation, and those before them as the user goes there. The browser
 * skips the drawing of rows out of view (`content-visibility` in the style), so that those that are in the document cost
 * little. A view at the end stays at the end; any other stays where it is, whatever comes before it.
 *
 * For assistive technology the list is a tree (groups can be opened). One row is the tab stop.
 */
import { setAttribute } from './dom';

/** Rows in the document at first, and more with each step back. */
const STEP = 50;
/** Rows in the document that are too many for a view at the end. */
const MANY = 4 * STEP;
/** Pixels from the top of the list at which earlier rows are put into the document. */
const NEAR_TOP = 600;
/** Pixels. A view this near to the end counts as being at the end, and stays there. */
const END_SLACK = 24;

export interface ListRow {
  readonly key: string;
}

/** What stays in place while rows around it change: a row, and the distance from the row's top to the view's top in pixels. */
export interface Anchor {
  readonly key: string;
  readonly offset: number;
}

export interface ListOptions<R extends ListRow> {
  readonly draw: (row: R) => HTMLElement;
  /** Whether a first row stands for those before the others, so that it is always there. */
  readonly isHead: (row: R) => boolean;
  /** Called after each drawing, and when the user has scrolled. */
  readonly drawn: () => void;
}

interface Drawn<R> {
  readonly row: R;
  readonly element: HTMLElement;
}

export class RowList<R extends ListRow> {
  readonly #scroller: HTMLElement;
  readonly #content: HTMLElement;
  readonly #options: ListOptions<R>;
  readonly #drawn = new Map<string, Drawn<R>>();
  #rows: readonly R[] = [];
  /** The place of the first row in the document, but for the head. */
  #first = 0;
  #active: string | undefined;
  #sticks = true;
  #frame = 0;
  /** Where the list itself scrolled to last. Any other position was scrolled to by the user. */
  #scrolledTo = -1;
  /** The scroller's height then. A scroller whose height has changed since may have moved by itself. */
  #heightThen = -1;

  constructor(scroller: HTMLElement, content: HTMLElement, options: ListOptions<R>) {
    this.#scroller = scroller;
    this.#content = content;
    this.#options = options;
    // Rows have their own height once they come into view, and others when they are opened or the view gets narrower.
    const resized = new ResizeObserver(() => {
      this.#stick();
      this.#fill();
    });
    resized.observe(scroller);
    resized.observe(content);
    scroller.addEventListener('scroll', () => this.#scrolled(), { passive: true });
  }

  /** Makes a row the tab stop. */
  setActive(key: string): void {
    if (key === this.#active) return;
    this.#active = key;
    this.#markRows(0);
  }

  /** Whether the view is at the end, and so follows what is added. */
  get sticks(): boolean {
    return this.#sticks;
  }

  /** The row at the view's top. */
  get anchor(): Anchor | undefined {
    const element = this.#at(this.#top);
    return element && { key: element.dataset['key'] ?? '', offset: this.#top - element.getBoundingClientRect().top };
  }

  /** Shows these rows. Those from `from` on differ from the previous rows. */
  show(rows: readonly R[], from: number): void {
    // The second one: the first may stand for all before it.
    const known = this.#rows[Math.max(1, this.#first)]?.key;
    const place = from > this.#first ? this.#first : rows.findIndex(({ key }) => key === known);
    this.#rows = rows;
    this.#first = Math.max(0, place < 0 ? rows.length - STEP : Math.min(place, rows.length - 1));
    if (this.#first === 1) this.#first = 0;
    this.#place(from);
  }

  /** Draws one row again, if it is in the document. */
  redraw(key: string): void {
    const drawn = this.#drawn.get(key);
    if (!drawn) return;
    const hasFocus = drawn.element.contains(document.activeElement);
    const element = this.#options.draw(drawn.row);
    drawn.element.replaceWith(element);
    this.#drawn.set(key, { row: drawn.row, element });
    this.#markRows(0);
    if (hasFocus) element.focus({ preventScroll: true });
    this.#stick();
    this.#options.drawn();
  }

  /** Draws every row again that is in the document. */
  redrawAll(): void {
    for (const key of [...this.#drawn.keys()]) this.redraw(key);
  }

  element(key: string): HTMLElement | undefined {
    return this.#drawn.get(key)?.element;
  }

  /** Scrolls to where a row was left. Returns false if the row does not exist. */
  restore({ key, offset }: Anchor): boolean {
    const place = this.#rows.findIndex((row) => row.key === key);
    if (place < 0) return false;
    this.#reach(place);
    const element = this.element(key);
    if (element) this.#setTop(this.#scroller.scrollTop + element.getBoundingClientRect().top - this.#top + offset);
    this.#noteEnd();
    return true;
  }

  scrollToEnd(): void {
    this.#sticks = true;
    this.#stick();
  }

  /** Brings a row into view, makes it the tab stop and, if asked, focuses it. */
  activate(row: number, focus: boolean): void {
    const place = Math.max(0, Math.min(row, this.#rows.length - 1));
    const next = this.#rows[place];
    if (!next) return;
    this.#active = next.key;
    this.#reach(place);
    this.#markRows(0);
    const element = this.element(next.key);
    this.#sticks = place === this.#rows.length - 1;
    // Once for where it seems to be, and again for where it is: rows on the way have their own height only now.
    for (let pass = 0; pass < 2; pass += 1) element?.scrollIntoView({ block: 'nearest' });
    this.#setTop(this.#scroller.scrollTop);
    if (focus) element?.focus({ preventScroll: true });
  }

  activeRow(): number {
    return this.#rows.findIndex((row) => row.key === this.#active);
  }

  /** The number of rows that Page Up and Page Down move. */
  get pageRows(): number {
    const place = (y: number): number => this.#rows.findIndex(({ key }) => key === this.#at(y)?.dataset['key']);
    return Math.max(1, place(this.#top + this.#scroller.clientHeight) - place(this.#top) - 1);
  }

  get #top(): number {
    return this.#scroller.getBoundingClientRect().top;
  }

  /** Returns the element at a height in the window: the first one for smaller values, the last one for larger ones. */
  #at(y: number): HTMLElement | undefined {
    const { children } = this.#content;
    let [low, high] = [0, children.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((children[middle]?.getBoundingClientRect().bottom ?? 0) > y) high = middle;
      else low = middle + 1;
    }
    return children[low] as HTMLElement | undefined;
  }

  /** Puts rows into the document from a place on. */
  #reach(place: number): void {
    if (place >= this.#first) return;
    const [height, top] = [this.#content.offsetHeight, this.#scroller.scrollTop];
    this.#first = Math.max(0, place - STEP);
    this.#place(0);
    // At the very top the browser would keep the top, not what is in view.
    if (top < 1) this.#setTop(top + this.#content.offsetHeight - height);
  }

  /** Puts so many rows into the document that the view is full of them, and some before it. */
  #fill(): void {
    const { clientHeight } = this.#scroller;
    while (clientHeight > 0 && this.#first > 0 && this.#content.offsetHeight < clientHeight + NEAR_TOP) this.#reach(this.#first - 1);
  }

  /** Takes the rows out of the document that were put there for a view that is at the end again. */
  #trim(): void {
    if (this.#rows.length - this.#first <= MANY) return;
    this.#first = this.#rows.length - STEP;
    this.#place(0);
    this.#fill();
  }

  /** Brings the document in line with the rows: those from `from` on are drawn anew where they have changed. */
  #place(from: number): void {
    const [head] = this.#rows;
    const hasHead = this.#first > 0 && head !== undefined && this.#options.isHead(head);
    const shown = [...(hasHead ? [head] : []), ...this.#rows.slice(this.#first)];
    const start = from > this.#first ? from - this.#first + Number(hasHead) : 0;
    const wanted = new Set(shown.slice(start).map(({ key }) => key));
    for (const element of [...this.#content.children].slice(start) as HTMLElement[]) if (!wanted.has(element.dataset['key'] ?? '')) element.remove();
    let next = this.#content.children[start] ?? null;
    for (const row of shown.slice(start)) {
      const known = this.#drawn.get(row.key);
      if (known?.row === row && known.element === next) {
        next = next.nextElementSibling;
        continue;
      }
      const hasFocus = known?.element.contains(document.activeElement) ?? false;
      if (known && known.element === next) next = next.nextElementSibling;
      if (known && known.row !== row) known.element.remove();
      const element = known?.row === row ? known.element : this.#options.draw(row);
      this.#content.insertBefore(element, next);
      this.#drawn.set(row.key, { row, element });
      if (hasFocus) element.focus({ preventScroll: true });
    }
    for (const [key, { element }] of this.#drawn) if (!element.isConnected) this.#drawn.delete(key);
    this.#markRows(start);
    this.#stick();
    this.#options.drawn();
  }

  /** Keeps a view at the end there. */
  #stick(): void {
    if (this.#sticks) this.#setTop(this.#scroller.scrollHeight);
    this.#heightThen = this.#scroller.clientHeight;
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
      if (this.#sticks) this.#trim();
      else if (this.#scroller.scrollTop < NEAR_TOP) this.#reach(this.#first - 1);
      this.#options.drawn();
    });
  }

  #noteEnd(): void {
    const { scrollTop, clientHeight, scrollHeight } = this.#scroller;
    this.#sticks = scrollHeight - clientHeight - scrollTop <= END_SLACK;
  }

  /** Says where each row from the `from`-th in the document on is among all, and which is the tab stop. */
  #markRows(from: number): void {
    if (!this.#active || !this.#drawn.has(this.#active)) this.#active = this.#rows.at(-1)?.key;
    const { children } = this.#content;
    const before = this.#rows.length - children.length;
    for (let at = 0; at < children.length; at += 1) {
      const element = children[at] as HTMLElement;
      setAttribute(element, 'tabindex', element.dataset['key'] === this.#active ? 0 : -1);
      setAttribute(element, 'aria-setsize', this.#rows.length);
      if (at >= from) setAttribute(element, 'aria-posinset', before + at + 1);
    }
  }
}
