/** Ages that stay right: `2 hours ago` is written anew while it is in the document. */
import { ago } from '../../figures';
import { h, setText } from './dom';

/** Milliseconds: an age in seconds must not stand still for the user who looks at it. */
export const TICK = 5_000;

/** Makes an age. The moment itself is shown when the user points at it. */
export function age(then: number, words: (age: string) => string = (text) => text): HTMLTimeElement {
  const element = h('time.age', { datetime: new Date(then).toISOString(), title: new Date(then).toLocaleString() }, words(ago(then, Date.now())));
  written.set(element, { then, words });
  return element;
}

/** Writes all ages in the document anew. */
export function tickAges(now: number): void {
  for (const element of document.querySelectorAll<HTMLTimeElement>('time.age')) {
    const known = written.get(element);
    if (known) setText(element, known.words(ago(known.then, now)));
  }
}

const written = new WeakMap<HTMLTimeElement, { readonly then: number; readonly words: (age: string) => string }>();
