/** The first prompt fetches what asks models, if the extension's own server has not got it. */
import { afterEach, expect, test, vi } from 'vitest';

import { Chat, type PromptEnd } from '../../src/chat';
import { type Prompting, SessionPrompt } from '../../src/protocol.gen';
import { Sessions } from '../../src/sessions';
import { memory } from './memory';
import { usage } from './samples';
import { CancellationError, EventEmitter } from './vscode';

const LACKING: Prompting = { provider: null, remedy: 'run pip', lacksPackage: true };
const steps: string[] = [];
const disposables: { dispose(): void }[] = [];
afterEach(() => {
  for (const each of disposables.splice(0)) each.dispose();
  steps.length = 0;
});

/** Returns a chat in a session whose server says this of prompts. */
async function chatWith(prompting: Prompting, fetch: () => Promise<void>, areFetchable = true): Promise<Chat> {
  const request = (method: { name: string }): Promise<never> => {
    if (method.name === SessionPrompt.name) steps.push('prompt');
    return Promise.resolve({ stopReason: 'end_turn', edits: [] } as never);
  };
  const sessions = new Sessions({ onDidUpdate: new EventEmitter<never>().event, request }, memory());
  const session = { sessionId: 's_1', title: '', cwd: '/', prompting, usage: { sessionUpdate: 'usage_update', used: 1, size: 2, _meta: { ullage: usage().meta } } };
  await sessions.activate(session);
  const chat = new Chat(sessions, () => Promise.resolve(), { areFetchable, fetch });
  disposables.push(chat, sessions);
  return chat;
}

async function endOf(chat: Chat): Promise<PromptEnd | undefined> {
  const ended = vi.fn<(end: PromptEnd) => void>();
  chat.onDidEnd(ended);
  await chat.prompt('s_1', 'Hello?');
  return ended.mock.lastCall?.[0];
}

const fetched = (): Promise<void> => Promise.resolve(void steps.push('fetch'));

test('a prompt waits for the packages, which the user did not have to ask for', async () => {
  const chat = await chatWith(LACKING, fetched);
  expect(chat.remedy(LACKING)).toBeNull();
  expect(await endOf(chat)).toMatchObject({ reason: 'end_turn' });
  expect(steps).toEqual(['fetch', 'prompt']);
});

test('a prompt whose packages are cancelled is cancelled, and one without a network fails with the reason', async () => {
  expect(await endOf(await chatWith(LACKING, () => Promise.reject(new CancellationError())))).toMatchObject({ reason: 'cancelled' });
  const offline = await endOf(await chatWith(LACKING, () => Promise.reject(new Error('Is there a network?'))));
  expect(offline).toMatchObject({ failure: { text: 'Hello?', error: 'Is there a network?', taken: false } });
  expect(steps).toEqual([]);
});

test('nothing is fetched for another server, for a key that is missing, or twice', async () => {
  const other = await chatWith(LACKING, fetched, false);
  expect(other.remedy(LACKING)).toBe('run pip');
  const keyless: Prompting = { provider: null, remedy: 'set a key', lacksPackage: false };
  expect((await chatWith(keyless, fetched)).remedy(keyless)).toBe('set a key');
  const ready: Prompting = { provider: 'anthropic', remedy: '', lacksPackage: false };
  await endOf(await chatWith(ready, fetched));
  expect(steps).toEqual(['prompt']);
});
