import { beforeEach, expect, test, vi } from 'vitest';

import { archivedBehind, bringsBack, undo, undoSteps } from '../../src/commands/archive';
import { ContextHistory, ContextMessages, ContextRestore, type HistoryResult, type MessagesResult, type RevertResult } from '../../src/protocol.gen';
import type { Ullage } from '../../src/ullage';
import { edit, example, usage } from './samples';
import { window } from './vscode';

beforeEach(() => { vi.clearAllMocks(); });

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

/** Two compactions in force, and what is asked of the server. */
function twice(): { readonly ullage: Ullage; readonly requests: [string, unknown][] } {
  const requests: [string, unknown][] = [];
  const answers: Record<string, unknown> = {
    [ContextHistory.name]: { edits: [edit({ id: 'e_1' }), edit({ id: 'e_2' })] },
    [ContextMessages.name]: { entries: [], total: 0 },
    [ContextRestore.name]: { usage: { used: 164_000 } },
  };
  const request = (method: { readonly name: string }, params: unknown): Promise<unknown> => {
    requests.push([method.name, params]);
    return Promise.resolve(answers[method.name]);
  };
  return { ullage: { sessions: { activeSessionId: 's_1', request, refreshEdits: () => Promise.resolve(), usage: usage() } } as unknown as Ullage, requests };
}

test('of several compactions the user chooses how far to go back, having read what each way takes back', async () => {
  const { ullage, requests } = twice();
  window.showQuickPick.mockImplementationOnce((items: readonly unknown[]) => Promise.resolve(items[0]));
  window.showInformationMessage.mockResolvedValueOnce('Restore');
  await undo(ullage);
  const items = window.showQuickPick.mock.calls[0]?.[0] as readonly { description: string }[];
  expect(items.map(({ description }) => description)).toEqual(['takes back 1 edit', 'takes back 2 edits']);
  expect(requests.find(([name]) => name === ContextRestore.name)).toEqual([ContextRestore.name, { sessionId: 's_1', editId: 'e_1' }]);
});

test('a user who says no to going back changes nothing', async () => {
  const { ullage, requests } = twice();
  window.showQuickPick.mockImplementationOnce((items: readonly unknown[]) => Promise.resolve(items[1]));
  window.showInformationMessage.mockResolvedValueOnce(undefined);
  await undo(ullage);
  expect(requests.map(([name]) => name)).not.toContain(ContextRestore.name);
});
