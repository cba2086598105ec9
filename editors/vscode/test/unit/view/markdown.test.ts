import { expect, test } from 'vitest';

import { parseInlines, parseMarkdown } from '../../../src/view/page/markdown';

const text = (words: string) => [{ kind: 'text', text: words }];

test('headings, paragraphs, lists and code are recognised', () => {
  expect(parseMarkdown('# One\ntwo\nthree\n\n- a\n  - b\n2. c\n```py\nx = 1\n```')).toEqual([
    { kind: 'heading', level: 1, inlines: text('One') },
    { kind: 'paragraph', inlines: text('two\nthree') },
    { kind: 'item', depth: 0, mark: '•', inlines: text('a') },
    { kind: 'item', depth: 1, mark: '•', inlines: text('b') },
    { kind: 'item', depth: 0, mark: '2.', inlines: text('c') },
    { kind: 'code', text: 'x = 1' },
  ]);
});

test('an item continues on the lines after it', () => {
  expect(parseMarkdown('- a\n  b')).toEqual([{ kind: 'item', depth: 0, mark: '•', inlines: text('a\nb') }]);
});

test('code that is not closed yet reaches to the end', () => {
  expect(parseMarkdown('```\nx')).toEqual([{ kind: 'code', text: 'x' }]);
});

test('bold and code are found in a line, and nothing is code in bold’s place', () => {
  expect(parseInlines('a `b*` and **c** `')).toEqual([
    { kind: 'text', text: 'a ' },
    { kind: 'code', text: 'b*' },
    { kind: 'text', text: ' and ' },
    { kind: 'strong', text: 'c' },
    { kind: 'text', text: ' `' },
  ]);
});

test('HTML stays text', () => {
  expect(parseMarkdown('<img src=x onerror=alert(1)>')).toEqual([{ kind: 'paragraph', inlines: text('<img src=x onerror=alert(1)>') }]);
});

test('a long text is read in time that grows with its length', () => {
  const line = '- `a` **b** ** ` c '.repeat(20);
  const time = (lines: number): number => {
    const start = performance.now();
    parseMarkdown(`${line}\n`.repeat(lines));
    return performance.now() - start;
  };
  time(200);
  expect(time(2_000)).toBeLessThan(60 * Math.max(1, time(200)));
});
