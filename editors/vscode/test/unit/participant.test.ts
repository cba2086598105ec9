/** `@ullage` in the chat, and the tools for language models: what each command answers. */
import { expect, test, vi } from 'vitest';
import type * as vscode from 'vscode';

import { registerTools } from '../../src/lookingUp';
import { answer, asRead, type ChatSubject } from '../../src/participant';
import { ContextCompact, ContextLookUp, ContextLost, SessionLoad } from '../../src/protocol.gen';
import { example } from './samples';
import { lm } from './vscode';

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
