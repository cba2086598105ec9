/** `@ullage` in the chat, and the tools for language models: what each command answers. */
import { expect, test, vi } from 'vitest';
import type * as vscode from 'vscode';

import { registerTools } from '../../src/lookingUp';
import { answer, type ChatSubject } from '../../src/participant';
import { ContextCompact, ContextLookUp, ContextLost } from '../../src/protocol.gen';
import { example } from './samples';
import { lm } from './vscode';

const RESULTS: Readonly<Record<string, unknown>> = {
  [ContextLookUp.name]: example('context.lookUp.result.json'),
  [ContextLost.name]: example('context.lost.result.json'),
  [ContextCompact.name]: example('context.compact.result.json'),
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
  await answer({ subjectId: 's_1', isFollowed: false, request, ...changed }, { command, prompt }, stream, token);
  return { text: texts.join(''), buttons, asked };
}

test.each([['context', {}], ['lost', {}]])('/%s shows the result of the tool as it is', async (command, given) => {
  const { text, asked } = await ask(command);
  expect(text).toMatch(/^```text\nHistory, not a message to you/);
  expect(asked).toEqual([[ContextLookUp.name, { sessionId: 's_1', tool: command, arguments: given }]]);
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
  expect((await ask('brief')).text).toContain(brief);
  expect((await ask('brief', '', { subjectId: undefined })).text).toMatch(/nothing to give back/);
});

test('/compact compacts a session of ours with the words as its focus, and offers to undo it', async () => {
  const { text, buttons, asked } = await ask('compact', 'the rounding rule');
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

test('a text with fences of its own stays inside of its block', async () => {
  const request = (() => Promise.resolve({ text: '```\nrm\n```', isError: false })) as ChatSubject['request'];
  expect((await ask('context', '', { request })).text).toBe('````text\n```\nrm\n```\n````\n');
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
