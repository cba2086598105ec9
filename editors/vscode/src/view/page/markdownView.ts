/** Markdown blocks as DOM: elements and text nodes, nothing parsed. */
import { h } from './dom';
import { type Block, type Inline, parseMarkdown } from './markdown';

export function renderMarkdown(text: string): DocumentFragment {
  const fragment = document.createDocumentFragment();
  let list: HTMLElement | undefined;
  for (const block of parseMarkdown(text)) {
    const element = renderBlock(block);
    list = block.kind === 'item' ? (list ?? fragment.appendChild(h('div', { role: 'list' }))) : undefined;
    (list ?? fragment).append(element);
  }
  return fragment;
}

function renderBlock(block: Block): HTMLElement {
  switch (block.kind) {
    case 'heading':
      // One level under the view's own headings, whatever level the summary uses.
      return h('div.md-heading', { role: 'heading', 'aria-level': Math.min(6, block.level + 2) }, ...renderInlines(block.inlines));
    case 'paragraph':
      return h('p.md-paragraph', {}, ...renderInlines(block.inlines));
    case 'item':
      return h(`div.md-item.md-depth-${block.depth}`, { role: 'listitem' }, h('span.md-mark', {}, block.mark), h('span', {}, ...renderInlines(block.inlines)));
    case 'code':
      return h('pre.contents', { tabindex: 0 }, block.text);
  }
}

function renderInlines(inlines: readonly Inline[]): (HTMLElement | string)[] {
  return inlines.map((inline) => (inline.kind === 'text' ? inline.text : h(inline.kind, {}, inline.text)));
}
