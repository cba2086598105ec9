import { expect, test } from 'vitest';

import { entryName, messageLine } from '../../src/messageText';
import type { Entry, Message } from '../../src/protocol.gen';

const said: Message = { id: 'm86', role: 'assistant', content: [{ type: 'text', text: 'The limit is in retry.py.' }] };
const entry: Entry = { message: said, index: 85, tokens: 9, archived: false, pinned: false, inserted: false, byAgent: false };
const summary = { type: 'context_compaction' as const, summary: 'Short.', compaction_number: 1, timestamp: 0, messages_archived: 4, context_size_before: 9_000 };

test('a message has the number that summaries and the command line give it: one more than its index', () => {
  expect(entryName(entry)).toBe('#86 assistant');
  expect(messageLine(entry)).toBe('#86 assistant  The limit is in retry.py.');
});

test('what the agent’s program wrote as the user is not the user’s', () => {
  const prompt: Entry = { ...entry, message: { ...said, role: 'user' } };
  expect(entryName(prompt)).toBe('#86 you');
  expect(entryName({ ...prompt, byAgent: true })).toBe('#86 agent');
});

test('what an edit put into the context has no number, since it would be the number of another message', () => {
  expect(entryName({ ...entry, inserted: true, message: { ...said, role: 'user', content: [summary] } })).toBe('summary');
  expect(entryName({ ...entry, inserted: true, message: { ...said, role: 'user' } })).toBe('notice');
});
