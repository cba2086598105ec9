/** Small functions that build DOM. Text only ever becomes text nodes, and no HTML is parsed. Ages are written anew while they are in the document. */
import { ago } from '../../words';

export type Child = Node | string | undefined | false;
type Tag = keyof HTMLElementTagNameMap;
type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** Makes an element: `h('button.pin', {title: 'Pin'}, 'text')`. `true` sets an empty attribute, `false` and undefined none. */
export function h<K extends Tag>(spec: K | `${K}.${string}`, attributes: Attributes = {}, ...children: readonly Child[]): HTMLElementTagNameMap[K] {
  const [tag, ...classes] = spec.split('.');
  const element = document.createElement(tag as K);
  if (classes.length > 0) element.className = classes.join(' ');
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(name, value === true ? '' : String(value));
  }
  add(element, children);
  return element;
}

export function add(element: Element, children: readonly Child[]): void {
  for (const child of children) if (child !== undefined && child !== false) element.append(child);
}

export function replace(element: Element, ...children: readonly Child[]): void {
  element.replaceChildren();
  add(element, children);
}

/** Makes a button with text. `act` runs on click and on the keyboard's own ways to press a button. */
export function button(spec: '' | `.${string}`, attributes: Attributes, act: () => void, ...children: readonly Child[]): HTMLButtonElement {
  const element = h(`button${spec}` as 'button', { type: 'button', ...attributes }, ...children);
  element.addEventListener('click', (event) => {
    event.stopPropagation();
    act();
  });
  return element;
}

/** Sets a custom property. This is the only way to set styles here, because the page's policy forbids style attributes. */
export function setProperty(element: HTMLElement, name: `--${string}`, value: string): void {
  if (element.style.getPropertyValue(name) !== value) element.style.setProperty(name, value);
}

export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

export function setAttribute(element: Element, name: string, value: string | number | boolean): void {
  const text = String(value);
  if (element.getAttribute(name) !== text) element.setAttribute(name, text);
}

const PATHS = {
  chevron: 'M6 4l4 4-4 4',
  close: 'M4 4l8 8M12 4l-8 8',
  compact: 'M8 1.5v4M5.8 3.6L8 5.8l2.2-2.2M8 14.5v-4M5.8 12.4L8 10.2l2.2 2.2M2.5 8h11',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  history: 'M2.5 8a5.5 5.5 0 1 0 1.8-4.1M2.5 2.5v3h3M8 5v3.2l2.2 1.3',
  marker: 'M8 1.8L14.2 8 8 14.2 1.8 8zM8 5.2L10.8 8 8 10.8 5.2 8z',
  pin: 'M9.8 1.8l4.4 4.4-2.3.6-2.6 2.6.2 3.2-1.2 1.2L2.2 7.7l1.2-1.2 3.2.2L9.2 4.1zM5.2 10.8L1.8 14.2',
  preview: 'M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8zM8 6a2 2 0 1 0 0 4 2 2 0 0 0 0-4z',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.4 10.4l3.6 3.6',
  send: 'M2 2.5L14 8 2 13.5 3.8 8zM3.8 8H9',
  tool: 'M9.6 5.4a3 3 0 0 1 4-3.6l-1.9 1.9.6 1 1 .6L15 3.6a3 3 0 0 1-3.8 3.8L5.4 13.2a1.6 1.6 0 0 1-2.4-2.4z',
  undo: 'M5.5 2.5L2.5 5.5l3 3M2.5 5.5h6.8a4 4 0 0 1 0 8H5',
} as const;

export type IconName = keyof typeof PATHS;
const SVG = 'http://www.w3.org/2000/svg';

/** Makes an icon. It is decoration only, so the element next to it must have text. */
export function icon(name: IconName): SVGElement {
  const svg = document.createElementNS(SVG, 'svg');
  const path = document.createElementNS(SVG, 'path');
  // eslint-disable-next-line texts/untranslated -- names of classes
  for (const [key, value] of [['viewBox', '0 0 16 16'], ['class', `icon icon-${name}`], ['aria-hidden', 'true']] as const) svg.setAttribute(key, value);
  path.setAttribute('d', PATHS[name]);
  svg.append(path);
  return svg;
}

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
