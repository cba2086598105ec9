/** Prompts and answers between the page and a real server, whose model plays a script. */
import * as path from 'node:path';

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type * as vscode from 'vscode';

import { Chat } from '../../../src/chat';
import { SessionCancel, SessionNew } from '../../../src/protocol.gen';
import { Sessions } from '../../../src/sessions';
import type { PageMessage } from '../../../src/view/messages';
import { ViewHost } from '../../../src/view/viewHost';
import { memory } from '../memory';
import { repository } from '../samples';
import { hasServer, RealServer } from '../server';
import { PageStub } from './pageStub';

const PATIENCE = { timeout: 10_000, interval: 10 };
const STORY = path.join(repository, 'tests/data/chat');

describe.skipIf(!hasServer)('the view’s host, with a model', () => {
  let server: RealServer;
  let sessions: Sessions;
  let chat: Chat;
  let page: PageStub;
  let host: ViewHost;

  beforeEach(() => {
    server = new RealServer();
    sessions = new Sessions(server, memory());
    chat = new Chat(sessions, (sessionId) => server.notify(SessionCancel, { sessionId }));
    page = new PageStub();
    host = new ViewHost(page as unknown as vscode.Webview, sessions, chat);
  });
  afterEach(async () => {
    host.dispose();
    chat.dispose();
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
    expect(page.last('notice')).toMatchObject({ severity: 'error' });
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
