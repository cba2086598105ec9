/** VS Code's models as the server asks them: what is offered, an answer in pieces, and each way to fail. */
import { beforeEach, expect, test, vi } from 'vitest';
import type * as vscode from 'vscode';

import { EditorModels } from '../../src/editorModels';
import type { CompleteParams, CountParams } from '../../src/protocol.gen';
import { memory } from './memory';
import { example } from './samples';
import { LanguageModelError, lm } from './vscode';

const params = example('models.complete.params.json') as CompleteParams;
const counted = example('models.count.params.json') as CountParams;
const token = { isCancellationRequested: false } as vscode.CancellationToken;

async function* pieces(...texts: readonly string[]): AsyncGenerator<string> {
  for (const text of texts) yield await Promise.resolve(text);
}

/** Makes the models of a window whose only model answers as given. */
function models(sendRequest: () => unknown): { readonly own: EditorModels; readonly notify: ReturnType<typeof vi.fn> } {
  lm.selectChatModels.mockResolvedValue([{ vendor: 'copilot', id: 'gpt-4.1', name: 'GPT-4.1', maxInputTokens: 111_000, sendRequest }]);
  const notify = vi.fn(() => Promise.resolve());
  const own = new EditorModels(memory());
  return { own, notify };
}

beforeEach(() => { vi.clearAllMocks(); });

test('an answer comes in pieces, before the request is answered with their number', async () => {
  const send = vi.fn(() => Promise.resolve({ text: pieces('In ', '', 'report.py') }));
  const { own, notify } = models(send);
  await own.serve({ notify });
  await expect(own.complete(params, token)).resolves.toEqual({ pieces: 2 });
  expect(notify.mock.calls.map(([, sent]) => sent as unknown)).toEqual([
    { requestId: params.requestId, text: 'In ' },
    { requestId: params.requestId, text: 'report.py' },
  ]);
  expect(lm.selectChatModels).toHaveBeenCalledWith({ vendor: 'copilot', id: 'gpt-4.1' });
  const [messages, options] = send.mock.calls[0] as unknown as [readonly { role: number }[], { justification: string }];
  expect(messages.map(({ role }) => role)).toEqual([1, 2, 1]);
  expect(options.justification).toMatch(/summarize a conversation/);
});

test('models are looked for only after the user has chosen one, and then after each start of a server', async () => {
  const { own, notify } = models(vi.fn());
  await own.serve({ notify });
  expect(lm.selectChatModels).not.toHaveBeenCalled();
  await own.choose();
  const offer = { editor: 'VS Code', models: [{ id: 'copilot/gpt-4.1', name: 'GPT-4.1', maxInputTokens: 111_000 }] };
  expect(notify.mock.lastCall?.[1]).toEqual(offer);
  notify.mockClear();
  await own.serve({ notify });
  expect(notify.mock.lastCall?.[1]).toEqual(offer);
});

test.each([
  [new LanguageModelError('no', 'NoPermissions'), 'no_permission'],
  [new LanguageModelError('no', 'Blocked'), 'blocked'],
  [new LanguageModelError('no', 'NotFound'), 'not_found'],
  [new LanguageModelError('no', 'Unknown'), 'failed'],
  [new Error('no', { cause: new LanguageModelError('no', 'Blocked') }), 'blocked'],
  [new Error('no'), 'failed'],
])('%s is the fault %s, whatever was said before', async (error, fault) => {
  async function* broken(): AsyncGenerator<string> {
    yield await Promise.resolve('In ');
    throw error;
  }
  const { own, notify } = models(() => Promise.resolve({ text: broken() }));
  await own.serve({ notify });
  await expect(own.complete(params, token)).resolves.toEqual({ pieces: 1, fault, reason: 'no' });
});

test('a model that is gone is said to be not found', async () => {
  const { own } = models(vi.fn());
  lm.selectChatModels.mockResolvedValue([]);
  await expect(own.complete(params, token)).resolves.toEqual({ pieces: 0, fault: 'not_found' });
});

test("a prompt's tokens are the sum of the model's own counts of its messages", async () => {
  const { own } = models(vi.fn());
  const countTokens = vi.fn(({ content }: { readonly content: string }) => Promise.resolve(content.length));
  lm.selectChatModels.mockResolvedValue([{ vendor: 'copilot', id: 'gpt-4.1', countTokens }]);
  const length = counted.messages.reduce((sum, { text }) => sum + text.length, 0);
  await expect(own.count(counted, token)).resolves.toEqual({ tokens: length });
  countTokens.mockRejectedValue(new Error('no tokenizer'));
  await expect(own.count(counted, token)).resolves.toEqual({ tokens: null });
  lm.selectChatModels.mockResolvedValue([]);
  await expect(own.count(counted, token)).resolves.toEqual({ tokens: null });
});

test('a model is called by its name in VS Code from the day it was offered, and by its own name before', async () => {
  const { own } = models(vi.fn());
  expect(own.nameOf('claude-sonnet-4-5')).toBe('claude-sonnet-4-5');
  expect(own.nameOf('editor/copilot/gpt-4.1')).toBe('gpt-4.1');
  await own.choose();
  expect(own.nameOf('editor/copilot/gpt-4.1')).toBe('GPT-4.1');
});
