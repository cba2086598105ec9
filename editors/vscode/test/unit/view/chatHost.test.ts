/** Prompts and answers between the page and a real server, whose model plays a script. */
import * as path from 'node:path';

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type * as vscode from 'vscode';

import { ContextMessages, SessionNew, SessionPrompt, type RequestPermissionParams } from '../../../src/protocol.gen';
import { Sessions } from '../../../src/sessions';
import type { PageMessage } from '../../../src/view/messages';
import { ViewHost } from '../../../src/view/viewHost';
import { memory } from '../memory';
import { PATIENCE } from '../patience';
import { example, repository } from '../samples';
import { hasServer, RealServer } from '../server';
import { PageStub } from './pageStub';
import { viewParts, type TestParts } from './viewParts';

const STORY = path.join(repository, 'tests/data/chat');

describe.skipIf(!hasServer)('the view’s host, with a model', () => {
  let server: RealServer;
  let sessions: Sessions;
  let parts: TestParts;
  let page: PageStub;
  let host: ViewHost;

  beforeEach(() => {
    server = new RealServer();
    sessions = new Sessions(server, memory());
    parts = viewParts(sessions, server);
    page = new PageStub();
    host = new ViewHost(page as unknown as vscode.Webview, parts);
  });
  afterEach(async () => {
    host.dispose();
    parts.chat.dispose();
    sessions.dispose();
    await server.stop();
  });

  const say = (message: PageMessage): void => { page.say(message); };
  const said = (): string => page.all('said').map(({ piece }) => piece.text).join('');
  const idle = (): Promise<unknown> => vi.waitUntil(() => page.last('turn')?.running === false && page.all('turn').length > 1, PATIENCE);

  async function begin(settings: object): Promise<void> {
    await server.start({ model: 'claude-sonnet-4-5', ...settings });
    await sessions.activate(await sessions.request(SessionNew, { cwd: STORY }));
    say({ type: 'ready' });
    await vi.waitUntil(() => page.last('prompting'), PATIENCE);
  }

  const withModel = (): Promise<void> => begin({ provider: 'story', providers: { story: { kind: 'scripted', file: path.join(STORY, 'story.script') } } });

  test('without a model the page gets the remedy', async () => {
    await begin({ provider: 'nobody' });
    expect(page.last('prompting')?.remedy).toMatch(/no provider is called 'nobody'/);
    say({ type: 'prompt', text: 'Hello?' });
    await vi.waitUntil(() => page.last('unsent'), PATIENCE);
    expect(page.last('unsent')).toMatchObject({ text: 'Hello?' });
    expect(page.last('failed')?.failure).toMatchObject({ text: 'Hello?', retry: true });
  });

  test('an answer comes piece by piece, with its tool calls, and then is in the transcript', async () => {
    await withModel();
    expect(page.last('prompting')?.remedy).toBeNull();
    say({ type: 'prompt', text: 'How does the code decide that a token has expired?' });
    await idle();
    expect(said()).toContain('A token counts as expired **30 seconds early**');
    expect(page.all('called').map(({ call }) => call.status)).toEqual(['pending', 'in_progress', 'completed']);
    await vi.waitUntil(() => page.last('live')?.speeches.length === 0 && page.all('live').length > 1, PATIENCE);
    say({ type: 'load', generation: page.last('session')?.generation ?? 0, offset: 0, limit: 10 });
    const { items } = await vi.waitUntil(() => page.all('entries').find(({ offset, total }) => offset === 0 && total === 4), PATIENCE);
    const ids = items.map(({ id }) => id);
    for (const { piece } of page.all('said')) expect(ids).toContain(piece.id);
  });

  test('a page that comes in the middle gets what was said so far', async () => {
    await withModel();
    say({ type: 'prompt', text: 'Now tell me everything.' });
    await vi.waitUntil(() => said().includes('Two.'), PATIENCE);
    say({ type: 'ready' });
    await vi.waitUntil(() => (page.last('live')?.speeches.length ?? 0) > 1, PATIENCE);
    expect(page.last('live')?.speeches.map(({ role }) => role)).toEqual(['user', 'assistant']);
    expect(page.last('turn')).toMatchObject({ running: true });
  });

  test('a server that ends while it answers leaves what it said in sight, and the prompt is sent again once', async () => {
    const settings = { model: 'claude-sonnet-4-5', provider: 'story', providers: { story: { kind: 'scripted', file: path.join(STORY, 'story.script') } } };
    await withModel();
    say({ type: 'prompt', text: 'Now tell me everything.' });
    await vi.waitUntil(() => said().includes('Two.'), PATIENCE);
    await server.kill();
    const failed = await vi.waitUntil(() => page.last('failed')?.failure, PATIENCE);
    expect(failed).toMatchObject({ text: 'Now tell me everything.', retry: true });
    expect(failed.error).toMatch(/^The server ended before it answered\. What it had said stays/);
    expect(page.last('turn')?.running).toBe(false);
    await server.start(settings);
    await sessions.reload();
    await vi.waitUntil(() => page.last('session') && page.last('live')?.speeches.some(({ role }) => role === 'assistant'), PATIENCE);
    expect(JSON.stringify(page.last('live'))).toContain('Two.');
    say({ type: 'retry' });
    await vi.waitUntil(() => page.last('turn')?.running === true, PATIENCE);
    expect(page.last('failed')?.failure).toBeNull();
    say({ type: 'stop' });
    await vi.waitUntil(() => page.last('turn')?.running === false, PATIENCE);
    const { entries } = await sessions.request(ContextMessages, { sessionId: sessions.activeSessionId ?? '' });
    expect(entries.filter(({ message }) => message.role === 'user')).toHaveLength(1);
  });

  test('a wrong key offers to set one, next to the prompt', async () => {
    await withModel();
    say({ type: 'prompt', text: 'And once more?' });
    const failed = await vi.waitUntil(() => page.last('failed')?.failure, PATIENCE);
    expect(failed).toMatchObject({ retry: true, actions: ['setKey', 'chooseModel'] });
    expect(page.all('notice')).toEqual([]);
    say({ type: 'dismiss' });
    expect(page.last('failed')?.failure).toBeNull();
  });

  test('a question before a tool call goes to the page, and its answer back', async () => {
    await withModel();
    const params = example('session.request_permission.params.json') as RequestPermissionParams;
    const token = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose: () => undefined }) };
    const asked = parts.permissions.ask({ ...params, sessionId: sessions.activeSessionId ?? '' }, token);
    const [question] = page.last('questions')?.questions ?? [];
    expect(question).toMatchObject({ title: 'Read units.py', detail: '' });
    say({ type: 'permit', id: question?.id ?? 0, optionId: 'allow_once' });
    await expect(asked).resolves.toEqual({ outcome: { outcome: 'selected', optionId: 'allow_once' } });
    expect(page.last('questions')?.questions).toEqual([]);
  });

  test('a prompt that is stopped while the server starts is not answered when it has started', async () => {
    await withModel();
    const real = server.request.bind(server);
    let start = (): void => undefined;
    const started = new Promise<void>((resolve) => { start = resolve; });
    server.request = (async (...request: Parameters<typeof real>) => {
      if (request[0].name === SessionPrompt.name) await started;
      return real(...request);
    }) as typeof server.request;
    say({ type: 'prompt', text: 'Now tell me everything.' });
    expect(page.last('turn')?.running).toBe(true);
    say({ type: 'stop' });
    start();
    await vi.waitUntil(() => page.last('turn')?.running === false, PATIENCE);
    expect(page.last('failed')?.failure).toBeNull();
    expect(said()).not.toContain('Sixteen.');
  });

  test('prompts wait for each other; stop ends one answer, and says so', async () => {
    await withModel();
    say({ type: 'prompt', text: 'Now tell me everything.' });
    await vi.waitUntil(() => said().includes('Two.'), PATIENCE);
    say({ type: 'prompt', text: 'And in one word?' });
    expect(page.last('turn')?.queued.map(({ text }) => text)).toEqual(['And in one word?']);
    say({ type: 'stop' });
    await vi.waitUntil(() => said().includes('Early.'), PATIENCE);
    await idle();
    expect(said()).not.toContain('very end');
    expect(page.all('notice').map(({ text }) => text)).toContain('Stopped. What was said is kept.');
  });
});
