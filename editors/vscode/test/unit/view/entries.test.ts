import { expect, test } from 'vitest';

import type { EditInfo, Entry, HistoryResult, MessagesResult } from '../../../src/protocol.gen';
import { findReplacements, inForce, replacesContents, toItem, wholeParts } from '../../../src/view/entries';
import { isHostMessage } from '../../../src/view/messages';
import { pageHtml } from '../../../src/view/html';
import { example, exampleNames } from '../samples';

const { edits } = example('context.history.result.json') as HistoryResult;

test.each(exampleNames('context.messages.').filter((name) => name.endsWith('.result.json')))('every entry of %s becomes an item the page takes', (name) => {
  const { entries, total } = example(name) as MessagesResult;
  const shown = entries.map((entry) => toItem(entry, edits, new Map()));
  expect(shown).toHaveLength(entries.length);
  expect(isHostMessage({ type: 'entries', generation: 1, offset: 0, total, items: shown })).toBe(true);
});

test('blank texts, which some models put before their thinking, are not drawn', () => {
  const content = [{ type: 'text' as const, text: ' \n' }, { type: 'thinking' as const, thinking: 'Hm.' }, { type: 'text' as const, text: 'Yes.' }];
  const message = { id: 'm', role: 'assistant' as const, content, timestamp: 0 };
  expect(wholeParts(message).map(({ kind }) => kind)).toEqual(['thinking', 'text']);
});

test('a marker knows the edit that undoes it', () => {
  const { entries } = example('context.messages.result.json') as MessagesResult;
  const shown = entries.map((entry) => toItem(entry, edits, new Map())).find((each) => each.marker);
  const edit = edits.find(({ kind }) => kind === 'compaction');
  const block = entries.flatMap(({ message }) => message.content).find(({ type }) => type === 'context_compaction');
  expect(block).toMatchObject({ compaction_number: 1, messages_archived: shown?.marker?.messagesArchived });
  expect(shown?.marker).toMatchObject({ editId: edit?.id, number: 1, trigger: 'automatic' });
  expect(shown?.marker?.before).toBeGreaterThan(shown?.marker?.after ?? Infinity);
});

function entry(text: string): Entry {
  return { message: { id: 'm1', role: 'user', content: [{ type: 'text', text }] }, index: 1, tokens: 1, archived: false, pinned: false, inserted: false, byAgent: false };
}

test('a row’s text is cut, the whole one is not', () => {
  const long = entry('x'.repeat(5_000));
  const [part] = toItem(long, [], new Map()).parts;
  expect(part).toMatchObject({ kind: 'text', more: true });
  expect(JSON.stringify(part).length).toBeLessThan(700);
  expect(wholeParts(long.message)).toEqual([{ kind: 'text', text: 'x'.repeat(5_000), more: false }]);
});

test('a row says who wrote it: the user, or the agent’s program in the user’s place', () => {
  expect(toItem(entry('Fix it.'), [], new Map()).role).toBe('user');
  expect(toItem({ ...entry('<system-reminder>'), byAgent: true }, [], new Map()).role).toBe('agent');
});

test('contents that an edit replaced are found by comparing with the context', () => {
  const shown = new Map([['m1', entry('cleared').message]]);
  expect(findReplacements([entry('long output')], shown)).toEqual(new Map([['m1', 'cleared']]));
  expect(findReplacements([entry('cleared')], shown)).toEqual(new Map());
  expect(findReplacements([entry('long output')], new Map())).toEqual(new Map());
});

test('only edits in force count', () => {
  const cleared: EditInfo = { id: 'e9', kind: 'clear_tool_uses', timestamp: 1, trigger: 'automatic', tokensSaved: 9 };
  expect(replacesContents([cleared])).toBe(true);
  expect(replacesContents([{ ...cleared, reverted: true }])).toBe(false);
  expect(inForce([cleared, { ...cleared, id: 'e10', reverted: true }])).toBe('e9');
});

test('the page’s policy lets in our own script and style alone', () => {
  const html = pageHtml({ script: 'https://x/a.js', style: 'https://x/a.css', source: 'https://x', nonce: 'n0nce', language: 'de', texts: { Context: 'Kontext</script><b>' } });
  expect(html).toContain(`default-src 'none'; style-src https://x; script-src 'nonce-n0nce'; base-uri 'none'; form-action 'none'`);
  expect(html).not.toContain('unsafe');
  // A translation is text, whatever is in it.
  expect(html).not.toContain('<b>');
});
