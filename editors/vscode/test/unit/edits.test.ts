import { expect, test } from 'vitest';

import { archivedBehind, bringsBack, undoSteps } from '../../src/commands/archive';
import type { HistoryResult, MessagesResult, RevertResult } from '../../src/protocol.gen';
import { edit, example } from './samples';

test('edits made together are one step, undone ones none, the newest is first', () => {
  const edits = [
    edit({ id: 'e_1', tokensSaved: 10 }),
    edit({ id: 'e_2', reverted: true }),
    edit({ id: 'e_3', kind: 'shorten', tokensSaved: 5, partOf: 'e_4' }),
    edit({ id: 'e_4', tokensSaved: 20 }),
  ];
  expect(undoSteps(edits).map((step) => [step.edit.id, step.tokens])).toEqual([['e_4', 25], ['e_1', 10]]);
});

test('undo says what it brings back', () => {
  const steps = undoSteps([edit()]);
  expect(bringsBack(steps, 44, 31_000, 156_000)).toBe(
    'Brings back 44 messages, 122K tokens; the context will be at 98% (153K of 156K).',
  );
  expect(bringsBack(steps, 0, 31_000, null)).toBe('Brings back 122K tokens; the context will be at 153,000 tokens.');
});

test('the golden history and its marker give the messages that were archived', () => {
  const { edits } = example('context.history.result.json') as HistoryResult;
  const { entries } = example('context.messages.result.json') as MessagesResult;
  expect(archivedBehind(undoSteps(edits), entries)).toBe(33);
});

test('a reverted compaction is listed with its parts', () => {
  const { edits } = example('context.restore.result.json') as RevertResult;
  expect(undoSteps(edits)).toHaveLength(0);
  expect(undoSteps(edits.map((one) => ({ ...one, reverted: false })))).toHaveLength(1);
});
