/**
 * The page, the extension's side of it and a real server over a long session, without anything between them that the
 * tests play.
 *
 * @vitest-environment happy-dom
 */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type * as vscode from 'vscode';

import { SessionImport } from '../../../src/protocol.gen';
import { Sessions } from '../../../src/sessions';
import { type HostMessage, isHostMessage, isPageMessage, type PageMessage } from '../../../src/view/messages';
import { Page } from '../../../src/view/page/page';
import { ViewHost } from '../../../src/view/viewHost';
import { hasServer, RealServer } from '../support';
import { type TestParts, viewParts } from '../viewSupport';
import { EventEmitter } from '../vscode';

const MESSAGES = 10_000;
/** Generous: importing and reading 10,000 messages takes some seconds on an idle machine. */
const PATIENCE = { timeout: 120_000, interval: 20 };

/** Returns a conversation as a request of the Messages API. The first message has a word of its own. */
function conversation(): string {
  const text = (n: number): string => (n === 0 ? 'The aardvark begins it.' : `Message number ${n}.`);
  const messages = Array.from({ length: MESSAGES }, (_, n) => ({ role: n % 2 === 0 ? 'user' : 'assistant', content: text(n) }));
  return JSON.stringify({ model: 'claude-sonnet-4-5', messages });
}

/** The webview between page and extension: messages arrive as JSON, and each side checks them. */
class Wire {
  readonly #says = new EventEmitter<unknown>();
  readonly onDidReceiveMessage = this.#says.event;
  page: Page | undefined;

  postMessage(message: unknown): Promise<boolean> {
    const arrived: unknown = JSON.parse(JSON.stringify(message));
    if (!isHostMessage(arrived)) throw new Error(`no message of ours: ${JSON.stringify(arrived).slice(0, 300)}`);
    this.page?.receive(arrived satisfies HostMessage);
    return Promise.resolve(true);
  }

  send(message: PageMessage): void {
    expect(isPageMessage(message)).toBe(true);
    this.#says.fire(message);
  }
}

describe.skipIf(!hasServer)('a session of 10,000 messages', () => {
  const memory = { keys: () => [], get: () => undefined, update: () => Promise.resolve() } as unknown as vscode.Memento;
  let server: RealServer;
  let sessions: Sessions;
  let parts: TestParts;
  let host: ViewHost;
  let wire: Wire;
  let root: HTMLElement;

  beforeEach(async () => {
    vi.stubGlobal('ResizeObserver', class { observe(): void { /* nothing has a size here */ } unobserve(): void { /* as above */ } });
    document.body.replaceChildren((root = document.createElement('div')));
    server = new RealServer();
    await server.start({});
    sessions = new Sessions(server, memory);
    parts = viewParts(sessions);
    wire = new Wire();
    host = new ViewHost(wire as unknown as vscode.Webview, parts);
    wire.page = new Page(root, { send: (message) => { wire.send(message); }, keep: () => undefined, kept: undefined });
    const { session } = await sessions.request(SessionImport, { text: conversation() });
    await sessions.activate(session);
  });
  afterEach(async () => {
    wire.page?.dispose();
    host.dispose();
    sessions.dispose();
    await server.stop();
  });

  const last = (): string | null => root.querySelector('.row:last-child')?.getAttribute('aria-setsize') ?? null;
  const keys = (key: string): void => {
    const row = root.querySelector<HTMLElement>('.row[tabindex="0"]');
    row?.focus();
    row?.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
  };

  test('is read to its first message, and a search jumps to it', { timeout: 300_000 }, async () => {
    wire.send({ type: 'ready' });
    await vi.waitUntil(() => last() === String(MESSAGES), PATIENCE);
    expect(root.querySelector('.earlier')).toBeNull();
    expect(root.querySelector('.notice')?.textContent).toBe('');
    keys('Home');
    expect(document.activeElement?.textContent).toContain('The aardvark begins it.');
    keys('End');
    const input = root.querySelector<HTMLInputElement>('.search-input');
    if (!input) throw new Error('no search');
    input.value = 'aardvark';
    input.dispatchEvent(new Event('input', { bubbles: true }));
    const hit = await vi.waitUntil(() => root.querySelector<HTMLElement>('.hit'), PATIENCE);
    hit.click();
    expect(document.activeElement?.textContent).toContain('The aardvark begins it.');
  });

  test('a page that cannot be read says why, and is read when the user asks for it again', { timeout: 300_000 }, async () => {
    let refused = 0;
    const real = server.request.bind(server);
    server.request = ((method: { name: string }, params: { offset?: number }) => {
      const fails = method.name === 'ullage/context/messages' && params.offset !== undefined && params.offset < 5_000 && refused === 0;
      if (!fails) return real(method as never, params as never);
      refused += 1;
      return Promise.reject(new Error('The disk is gone.'));
    }) as typeof server.request;
    wire.send({ type: 'ready' });
    const earlier = await vi.waitUntil(() => root.querySelector<HTMLElement>('.earlier.unread'), PATIENCE);
    expect(earlier.textContent).toContain('could not be read. The disk is gone.');
    expect(earlier.querySelector('.spinner')).toBeNull();
    earlier.querySelector('button')?.click();
    await vi.waitUntil(() => last() === String(MESSAGES), PATIENCE);
    expect(refused).toBe(1);
  });
});
