import { expect, test } from 'vitest';

import { asLabel, plainText } from '../../src/labels';

test.each([
  ['**spotter-4te** is *done*', 'spotter-4te is done'],
  ['## Task\n\nFix `a.py`', 'Task\nFix a.py'],
  ['```py\nprint(1)\n```', 'print(1)'],
  ['see [the docs](https://example.org/a_b)', 'see the docs'],
  ['<command-name>/clear</command-name>', '/clear'],
  ['<local-command-stdout>Bye!</local-command-stdout>', 'Bye!'],
  ['\u001b[2mCompacted\u001b[22m (ctrl+o)', 'Compacted (ctrl+o)'],
  ['a < b and c > d, snake_case and 2 * 3 * 4', 'a < b and c > d, snake_case and 2 * 3 * 4'],
  ['<div>kept</div>', '<div>kept</div>'],
  ['> said\n- item', 'said\n- item'],
  ['| a | b |\n|---|:-:|\n| 1 | 2 |', 'a | b\n1 | 2'],
  ['one\n<task-id>7</task-id>\n  code', 'one\n7\n  code'],
])('%j is shown as %j', (text, plain) => {
  expect(plainText(text)).toBe(plain);
});

test('a title with an icon in it is text in a label', () => {
  expect(asLabel('$(flame) hot $ (x)')).toBe('\\$(flame) hot $ (x)');
});
