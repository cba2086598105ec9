/**
 * Markdown as DOM. markdown-it reads it, with HTML off; its tokens become elements and text nodes, so no HTML is ever
 * parsed and any text in a message stays text. Pictures are named and not loaded.
 */
// First, so that it is in the part that this one and the page share, which runs before the page makes its texts.
import './displayLanguage';

import * as l10n from '@vscode/l10n';
import MarkdownIt from 'markdown-it';
import type Token from 'markdown-it/lib/token.mjs';

import { button, h } from './dom';
import { icon } from './dom';
import { copyCode } from './markdown';

const reader = new MarkdownIt({ html: false, linkify: false, breaks: true });
/** Addresses that a link may open, in the browser or the mail program. */
const OPENED = /^(?:https?|mailto):/i;

/** Elements by markdown-it's names of tags. Others are drawn as their contents. */
const TAGS = new Set(['p', 'ul', 'ol', 'li', 'blockquote', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'strong', 'em', 's', 'hr']);
/** Elements that take the direction of their own text, so that a right-to-left paragraph reads right. */
const DIRECTED = new Set(['p', 'li', 'blockquote', 'th', 'td']);

/**
 * Returns the elements of a text. With `show`, numbers of messages are links. An unfinished construct is what it looks like so far, so a text may be drawn
 * while it grows.
 */
export function renderMarkdown(text: string, show?: ShowNumber): DocumentFragment {
  const fragment = document.createDocumentFragment();
  const tokens = reader.parse(text, {});
  append(fragment, tokens, { levels: headingLevels(tokens), show });
  return fragment;
}

/** A part of a text under one of its topmost headings. The part before the first heading has the title ''. */
export interface Section {
  readonly title: string;
  /** The plain text of its first paragraph or list item. */
  readonly gist: string;
  /** Characters of its text, without marks. */
  readonly size: number;
  readonly body: DocumentFragment;
}

/** Returns the sections of a text. Further headings stay in their section's body. */
export function readSections(text: string, show?: ShowNumber): readonly Section[] {
  const tokens = reader.parse(text, {});
  const levels = headingLevels(tokens);
  const top = tokens.filter((token) => isHeading(token) && token.level === 0).map(({ tag }) => tag).sort()[0];
  const starts = tokens.flatMap((token, at) => (isHeading(token) && token.level === 0 && token.tag === top ? [at] : []));
  const bounds = [...new Set([0, ...starts])];
  return bounds.map((start, at) => {
    const isTitled = starts.includes(start);
    const own = tokens.slice(isTitled ? start + HEADING : start, bounds[at + 1]);
    const inline = own.filter(({ type }) => type === 'inline').map(plain);
    const code = own.filter(({ type }) => type === 'fence' || type === 'code_block').map(({ content }) => content);
    const body = document.createDocumentFragment();
    append(body, own, { levels, show });
    const size = [...inline, ...code].reduce((sum, { length }) => sum + length, 0);
    return { title: isTitled ? plain(tokens[start + 1]) : '', gist: inline[0] ?? code[0] ?? '', size, body };
  });
}

/** Tokens of a heading: its beginning, its words, its end. */
const HEADING = 3;

function isHeading({ type }: Token): boolean {
  return type === 'heading_open';
}

function plain(token: Token | undefined): string {
  return (token?.children ?? []).map(({ type, content }) => (type.endsWith('break') ? ' ' : content)).join('');
}

/** Called when the user follows the number of a message, `#85`. */
type ShowNumber = (number: number) => void;

interface Drawing {
  readonly levels: ReadonlyMap<string, number>;
  readonly show: ShowNumber | undefined;
}

function append(root: Node, tokens: readonly Token[], drawing: Drawing): void {
  let place = root;
  for (const token of tokens) {
    if (token.nesting < 0) {
      place = closed(place, token) ?? place;
    } else if (token.type === 'inline') {
      append(place, token.children ?? [], drawing);
    } else {
      const element = draw(token, drawing);
      if (element) place.appendChild(element);
      if (element && token.nesting > 0) place = token.tag === 'table' ? (element.lastChild ?? element) : element;
    }
  }
}

/** Returns where to go on after a closing token: after the element that it closes. */
function closed(place: Node, token: Token): Node | null {
  if (token.hidden || (!TAGS.has(token.tag) && !isDrawn(token))) return place;
  // A table is inside of the box that scrolls.
  return token.tag === 'table' ? (place.parentNode?.parentNode ?? null) : place.parentNode;
}

function isDrawn({ tag }: Token): boolean {
  return tag === 'a' || /^h[1-6]$/.test(tag);
}

function draw(token: Token, { levels, show }: Drawing): Node | undefined {
  switch (token.type) {
    case 'text':
      return show ? drawNumbers(token.content, show) : document.createTextNode(token.content);
    case 'softbreak':
    case 'hardbreak':
      return h('br');
    case 'code_inline':
      return h('code', {}, token.content);
    case 'fence':
    case 'code_block':
      return drawCode(token.content.replace(/\n$/, ''), token.info.trim());
    case 'image':
      return h('span.attachment', {}, token.content || (token.attrGet('src') ?? ''));
    case 'link_open':
      return drawLink(token.attrGet('href') ?? '');
    case 'heading_open':
      return h('div.md-heading', { role: 'heading', 'aria-level': levels.get(token.tag), dir: 'auto' });
    default:
      return drawPlain(token);
  }
}

function drawPlain({ tag, hidden, attrs, nesting }: Token): Node | undefined {
  if (hidden || !TAGS.has(tag) || nesting < 0) return undefined;
  const element = document.createElement(tag);
  if (tag === 'ol' && attrs) for (const [name, value] of attrs) if (name === 'start') element.setAttribute('start', value);
  if (DIRECTED.has(tag)) element.dir = 'auto';
  return tag === 'table' ? h('div.md-table', { tabindex: 0, role: 'region', 'aria-label': l10n.t('Table') }, element) : element;
}

/** Returns a text in which the numbers of messages bring those into view. */
function drawNumbers(text: string, show: ShowNumber): DocumentFragment {
  const fragment = document.createDocumentFragment();
  for (const part of text.split(/(?<![\w#])(#\d+)\b/)) {
    const number = Number(/^#(\d+)$/.exec(part)?.[1]);
    fragment.append(number > 0 ? button('.link.number-link', { title: l10n.t('Show message {0}', part) }, () => show(number), part) : part);
  }
  return fragment;
}

/** An address of another kind is shown as text beside its words. */
function drawLink(href: string): HTMLElement {
  return OPENED.test(href) ? h('a', { href, title: href }) : h('span.md-dead-link', { title: href });
}

function drawCode(text: string, language: string): HTMLElement {
  const name = language === '' ? l10n.t('Copy the code') : l10n.t('Copy the {0} code', language);
  return h('div.md-code', {}, h('pre.contents', { tabindex: 0 }, h('code', {}, text)), button('.quiet.copy-code', { title: name, 'aria-label': name }, () => { copyCode(text); }, icon('copy')));
}

/** Returns the level of each kind of heading in a text: without gaps, one under the view's own heading. */
function headingLevels(tokens: readonly Token[]): ReadonlyMap<string, number> {
  const tags = [...new Set(tokens.flatMap(({ type, tag }) => (type === 'heading_open' ? [tag] : [])))].sort();
  return new Map(tags.map((tag, at) => [tag, at + 2]));
}
