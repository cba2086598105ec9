/**
 * Markdown as DOM, and the page before its library is loaded.
 *
 * @vitest-environment happy-dom
 */
import { expect, test, vi } from 'vitest';

import { onCopy } from '../../../src/view/page/markdown';
import { renderMarkdown } from '../../../src/view/page/markdownView';
import { Page } from '../../../src/view/page/page';
import { PATIENCE } from '../support';
import { item, marker } from '../viewSupport';

test('a summary is shown as it is until Markdown can be drawn, and then as Markdown', async () => {
  vi.stubGlobal('ResizeObserver', class { observe(): void { /* nothing has a size here */ } unobserve(): void { /* as above */ } });
  const root = document.body.appendChild(document.createElement('div'));
  const page = new Page(root, { send: () => undefined, keep: () => undefined, kept: undefined });
  page.receive({ type: 'session', sessionId: 's1', title: 't', generation: 1, total: 1, reveal: null });
  page.receive({ type: 'entries', generation: 1, offset: 0, total: 1, items: [item('e1-marker', { marker })] });
  page.receive({ type: 'compacting', number: 2, trigger: 'manual', messages: 3, before: 9_000, summary: 'It **is** so.' });
  expect(root.querySelector('.writing-text')?.textContent).toBe('It **is** so.');
  root.querySelector<HTMLElement>('.marker')?.click();
  expect(root.querySelector('.summary')?.textContent).toBe(marker.summary);
  await vi.waitFor(() => { expect(root.querySelector('.summary .section strong')?.textContent).toBe('one'); }, PATIENCE);
  expect(root.querySelector('.writing-text strong')?.textContent).toBe('is');
  page.dispose();
});

function draw(text: string): HTMLElement {
  const root = document.createElement('div');
  root.append(renderMarkdown(text));
  return root;
}

const all = (root: HTMLElement, selector: string): string[] => [...root.querySelectorAll(selector)].map((element) => element.textContent);

test('headings, lists, emphasis and code are elements', () => {
  const root = draw('# Task\n\nFix **it** and *that*, `a.py`.\n\n1. one\n2. two\n   - deep\n\n> said\n\n---\n');
  expect(all(root, '[role=heading]')).toEqual(['Task']);
  expect(all(root, 'strong')).toEqual(['it']);
  expect(all(root, 'em')).toEqual(['that']);
  expect(all(root, 'code')).toEqual(['a.py']);
  expect(all(root, 'ol > li')).toHaveLength(2);
  expect(all(root, 'ol ul li')).toEqual(['deep']);
  expect(all(root, 'blockquote')).toHaveLength(1);
  expect(root.querySelector('hr')).not.toBeNull();
});

test('a table has rows and cells, and text goes on after it', () => {
  const root = draw('| a | b |\n|---|---|\n| 1 | 2 |\n\nAfter.\n');
  expect(all(root, 'th')).toEqual(['a', 'b']);
  expect(all(root, 'tbody td')).toEqual(['1', '2']);
  expect(root.lastElementChild?.tagName).toBe('P');
  expect(root.lastElementChild?.textContent).toBe('After.');
});

test('text in every block takes the direction of its own words', () => {
  const root = draw('שלום עולם\n\n- مرحبا\n');
  expect(root.querySelector('p')?.dir).toBe('auto');
  expect(root.querySelector('li')?.dir).toBe('auto');
});

test('links open addresses of the web and of mail alone', () => {
  const root = draw('[a](https://example.org/x) [b](javascript:alert(1)) [c](command:x) [d](file:///etc/passwd) [e](mailto:a@b.c)');
  expect([...root.querySelectorAll('a')].map((link) => link.getAttribute('href'))).toEqual(['https://example.org/x', 'mailto:a@b.c']);
  expect(root.textContent).toContain('b');
});

test('HTML is text, and pictures are named and not loaded', () => {
  const root = draw('<img src=x onerror=alert(1)> <script>1</script>\n\n<div>x</div>\n\n![a cat](https://example.org/cat.png)');
  expect(root.querySelector('img, script, div > div')).toBeNull();
  expect(root.textContent).toContain('<img src=x onerror=alert(1)>');
  expect(root.textContent).toContain('a cat');
});

test('a code block can be copied', () => {
  const copied = vi.fn();
  onCopy(copied);
  const root = draw('```python\nprint(1)\n```\n');
  expect(all(root, 'pre')).toEqual(['print(1)']);
  root.querySelector<HTMLElement>('.copy-code')?.click();
  expect(copied).toHaveBeenCalledWith('print(1)');
});

test('headings have no gaps under the view’s own, whatever levels a text uses', () => {
  const levels = (text: string): (string | null)[] => [...draw(text).querySelectorAll('[role=heading]')].map((each) => each.getAttribute('aria-level'));
  expect(levels('## Task\n\n#### Detail\n\n## Next\n')).toEqual(['2', '3', '2']);
  expect(levels('# One\n')).toEqual(['2']);
});

test('an unfinished text is what it looks like so far', () => {
  expect(all(draw('Look:\n\n```py\nprint('), 'pre')).toEqual(['print(']);
  expect(draw('**bo').textContent).toBe('**bo');
});
