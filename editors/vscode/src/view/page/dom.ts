/** Small functions that build DOM. Text only ever becomes text nodes, and no HTML is parsed. */

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
