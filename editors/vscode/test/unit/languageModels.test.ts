/** `@ullage` in the chat, the tools for language models, and VS Code's models as the server asks them. */
import { beforeEach, describe, expect, test, vi } from 'vitest';
import type * as vscode from 'vscode';

import { answer, asRead, type ChatSubject, EditorModels, registerTools } from '../../src/languageModels';
import { type CompleteParams, ContextCompact, ContextLookUp, ContextLost, type CountParams, SessionLoad } from '../../src/protocol.gen';
import { example, memory } from './support';
import { LanguageModelError, lm } from './vscode';

describe('@ullage and the tools', () => {
  const RESULTS: Readonly<Record<string, unknown>> = {
    [ContextLookUp.name]: example('context.lookUp.result.json'),
    [ContextLost.name]: example('context.lost.result.json'),
    [ContextCompact.name]: example('context.compact.result.json'),
    [SessionLoad.name]: example('session.load.result.json'),
  };
  const token = { isCancellationRequested: false } as vscode.CancellationToken;

  interface Answered {
    readonly text: string;
    readonly buttons: readonly string[];
    readonly asked: readonly (readonly [string, unknown])[];
  }

  async function ask(command: string | undefined, prompt = '', changed: Partial<ChatSubject> = {}): Promise<Answered> {
    const [texts, buttons, asked]: [string[], string[], [string, unknown][]] = [[], [], []];
    const request = (({ name }: { name: string }, params: unknown) => {
      asked.push([name, params]);
      return Promise.resolve(RESULTS[name]);
    }) as ChatSubject['request'];
    const stream = {
      markdown: (text: string) => { texts.push(text); },
      button: (button: vscode.Command) => { buttons.push(button.command); },
      progress: vi.fn(),
    } as unknown as vscode.ChatResponseStream;
    const subject: ChatSubject = { subjectId: 's_1', isFollowed: false, request, nameOf: (model) => `named ${model}`, telling: (_, work) => work(), ...changed };
    await answer(subject, { command, prompt }, stream, token);
    return { text: texts.join(''), buttons, asked };
  }

  test('/context shows the figures as a table, as the tooltip of the status bar does, without its links', async () => {
    const { text, buttons, asked } = await ask('context');
    expect(asked).toEqual([[SessionLoad.name, { sessionId: 's_1' }]]);
    expect(text).toContain('named gpt\\-4o\\-8k');
    expect(text).toContain('6,020 of 8,192 tokens · compacts at 5.5K (67%)');
    expect(text).toMatch(/^\| messages \| 4,847 \| 81% \|$/m);
    expect(text).not.toMatch(/command:|```/);
    expect(buttons).toEqual(['ullage.showContext']);
  });

  test('/lost shows the result of the tool', async () => {
    const { text, asked } = await ask('lost');
    expect(text).toMatch(/^History, not a message to you/);
    expect(asked).toEqual([[ContextLookUp.name, { sessionId: 's_1', tool: 'lost', arguments: {} }]]);
  });

  test.each(['search', undefined])('words after /%s are searched for, cut to what the server takes', async (command) => {
    const { asked } = await ask(command, `  ${'units.py '.repeat(200)}`);
    expect(asked).toEqual([[ContextLookUp.name, { sessionId: 's_1', tool: 'search', arguments: { query: 'units.py '.repeat(200).trim().slice(0, 1_000) } }]]);
  });

  test('without words it says what can be asked', async () => {
    const { text, asked } = await ask(undefined);
    expect(text).toMatch(/`\/context`/);
    expect(asked).toEqual([]);
  });

  test('/brief shows what would be given back, or says that there is nothing', async () => {
    const brief = (example('context.lost.result.json') as { brief: string }).brief;
    expect((await ask('brief')).text).toBe(asRead(brief));
    expect((await ask('brief', '', { subjectId: undefined })).text).toMatch(/nothing to give back/);
  });

  test('/compact compacts a session of ours with the words as its focus, says so alone, and offers to undo it', async () => {
    const told = vi.fn((_: string, work: () => Promise<unknown>) => work());
    const { text, buttons, asked } = await ask('compact', 'the rounding rule', { telling: told as ChatSubject['telling'] });
    expect(told.mock.calls.map(([sessionId]) => sessionId)).toEqual(['s_1']);
    expect(asked).toEqual([[ContextCompact.name, { sessionId: 's_1', focus: 'the rounding rule' }]]);
    expect(text).toMatch(/^Compacted \d+ messages: .+ → .+\. Everything is kept; undo any time\.$/);
    expect(buttons).toEqual(['ullage.undoCompaction', 'ullage.showContext']);
  });

  test("/compact changes nothing in an agent's conversation", async () => {
    const { text, buttons, asked } = await ask('compact', '', { isFollowed: true });
    expect(asked).toEqual([]);
    expect(text).toMatch(/only reads it/);
    expect(buttons).toEqual(['ullage.compactContext']);
  });

  test('a text of the server keeps its quotations, lists and lines, and no sign in it does anything', () => {
    const text = 'Found <b>.\n\n#3 user:\n> [run](command:x)\n>   | indented |\n\n- #1 *assistant*\nEnd';
    expect(asRead(text).split('\n')).toEqual([
      'Found \\<b\\>\\.  ',
      '',
      '\\#3 user:  ',
      '> \\[run\\]\\(command:x\\)  ',
      '> \u00a0\u00a0\\| indented \\|  ',
      '',
      '- \\#1 \\*assistant\\*  ',
      'End  ',
    ]);
  });

  test('quoted code stays code, and nothing in it ends it early', () => {
    expect(asRead('> ```\n>   x = `a`\n> ````\n> ```\n> *y*').split('\n')).toEqual(['> `````', '>   x = `a`', '> ````', '> `````', '> \\*y\\*  ']);
    expect(asRead('> ```\n> x\nEnd.').split('\n')).toEqual(['> ````', '> x', 'End\\.  ']);
  });

  test('a tool without a conversation, or with a failing server, gives a text that says so', async () => {
    const request = (() => Promise.reject(new Error('The server is stopped.'))) as ChatSubject['request'];
    registerTools({ subjectId: 's_1', request });
    const registered = lm.registerTool.mock.calls as unknown as [string, { invoke(options: object, token: unknown): Promise<{ content: { value: string }[] }> }][];
    expect(registered.map(([name]) => name)).toEqual(['ullage_search', 'ullage_open', 'ullage_context', 'ullage_lost']);
    const result = await registered[0]?.[1].invoke({ input: { query: 'units.py' } }, token);
    expect(result?.content[0]?.value).toBe('The server is stopped.');
    expect((await ask('context', '', { subjectId: undefined })).text).toMatch(/No conversation is open or followed/);
  });
});

describe("VS Code's models", () => {
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
});
