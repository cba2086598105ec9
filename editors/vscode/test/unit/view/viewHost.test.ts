/** The extension's side of the view, between a page that is a list of messages and a real server. */
import * as path from 'node:path';

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type * as vscode from 'vscode';

import { ContextCompact, ContextUndo, SessionAppend, SessionImport } from '../../../src/protocol.gen';
import { Sessions } from '../../../src/sessions';
import type { HostMessageOf, PageMessage } from '../../../src/view/messages';
import { ViewHost } from '../../../src/view/viewHost';
import { PATIENCE } from '../patience';
import { repository } from '../samples';
import { hasServer, RealServer } from '../server';
import { PageStub } from './pageStub';
import { viewParts, type TestParts } from './viewParts';

describe.skipIf(!hasServer)('the view’s host', () => {
  const memory = { keys: () => [], get: () => undefined, update: () => Promise.resolve() } as unknown as vscode.Memento;
  let server: RealServer;
  let sessions: Sessions;
  let page: PageStub;
  let parts: TestParts;
  let host: ViewHost;

  beforeEach(async () => {
    server = new RealServer();
    await server.start({ models: { 'claude-sonnet-4-5': { window: 200_000 } } });
    sessions = new Sessions(server, memory);
    page = new PageStub();
    parts = viewParts(sessions);
    host = new ViewHost(page as unknown as vscode.Webview, parts);
  });
  afterEach(async () => {
    host.dispose();
    sessions.dispose();
    await server.stop();
  });

  const say = (message: PageMessage): void => { page.say(message); };

  async function open(): Promise<HostMessageOf<'session'>> {
    const { session } = await sessions.request(SessionImport, { path: path.join(repository, 'server/ullage/cli/data/sample.jsonl') });
    await sessions.activate(session);
    say({ type: 'ready' });
    return vi.waitUntil(() => page.last('session'), PATIENCE);
  }

  async function load({ generation, total }: HostMessageOf<'session'>): Promise<HostMessageOf<'entries'>> {
    say({ type: 'load', generation, offset: 0, limit: total });
    return vi.waitUntil(() => page.all('entries').find((entries) => entries.generation === generation && entries.offset === 0), PATIENCE);
  }

  test('a page without a session gets a message that says so', () => {
    say({ type: 'ready' });
    expect(page.last('session')).toMatchObject({ sessionId: null });
  });

  test('a page gets the session, its figures and the entries it asks for', async () => {
    const session = await open();
    const { items, total } = await load(session);
    expect(items).toHaveLength(total);
    await vi.waitUntil(() => page.last('usage'), PATIENCE);
    expect(page.last('usage')?.usage.used).toBe(sessions.usage?.used);
  });

  test('appended messages alone are sent, in the same generation', async () => {
    const session = await open();
    await load(session);
    await sessions.request(SessionAppend, { sessionId: sessions.activeSessionId ?? '', messages: [{ role: 'user', content: 'One more thing.' }] });
    const added = await vi.waitUntil(() => page.all('entries').find(({ offset }) => offset === session.total), PATIENCE);
    expect(added.items.map(({ parts }) => parts)).toEqual([[{ kind: 'text', text: 'One more thing.', more: false }]]);
    expect(page.last('session')?.generation).toBe(session.generation);
  });

  test('a compaction streams, begins a new generation with its marker, and undo takes it away', async () => {
    const session = await open();
    const { editId } = await sessions.request(ContextCompact, { sessionId: sessions.activeSessionId ?? '' });
    const compacted = await vi.waitUntil(() => page.all('session').find(({ generation }) => generation > session.generation), PATIENCE);
    expect(page.last('compacting')?.messages).toBeGreaterThan(0);
    expect(page.all('chunk').map(({ text }) => text).join('')).toContain('## ');
    expect(page.last('compacted')).toMatchObject({ status: 'completed' });
    const { items } = await load(compacted);
    expect(compacted.reveal).toBe(`${editId ?? ''}-marker`);
    expect(items.find(({ marker }) => marker)?.marker).toMatchObject({ editId, trigger: 'manual', number: 1 });
    expect(items.some(({ archived }) => archived)).toBe(true);

    say({ type: 'undo', editId: editId ?? '' });
    const undone = await vi.waitUntil(() => page.all('session').find(({ generation }) => generation > compacted.generation), PATIENCE);
    expect((await load(undone)).items.some(({ archived, marker }) => archived || marker)).toBe(false);
  });

  test('what a compaction left out is found by the server, and an edit that is none is said to be none', async () => {
    await open();
    const { editId } = await sessions.request(ContextCompact, { sessionId: sessions.activeSessionId ?? '' });
    await vi.waitUntil(() => page.all('session').find(({ reveal }) => reveal !== null), PATIENCE);
    say({ type: 'lost', editId: editId ?? '' });
    const { lost } = await vi.waitUntil(() => page.last('lost'), PATIENCE);
    expect(lost).toMatchObject({ editId, error: '', readable: true, terminal: null });
    expect(Object.values(lost.counts).reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(lost.entries.length);
    expect(lost.brief === '').toBe(lost.entries.length === 0);
    say({ type: 'lost', editId: 'e_none' });
    const refused = await vi.waitUntil(() => page.all('lost').find(({ lost: { editId: id } }) => id === 'e_none'), PATIENCE);
    expect(refused.lost.error).toMatch(/e_none/);
  });

  test('an undo from elsewhere is noticed', async () => {
    await open();
    await sessions.request(ContextCompact, { sessionId: sessions.activeSessionId ?? '' });
    const compacted = await vi.waitUntil(() => page.all('session').find(({ reveal }) => reveal !== null), PATIENCE);
    await sessions.request(ContextUndo, { sessionId: sessions.activeSessionId ?? '' });
    await vi.waitUntil(() => page.all('session').some(({ generation, total }) => generation > compacted.generation && total < compacted.total), PATIENCE);
  });

  test('pins, searches and whole contents are answered', async () => {
    const session = await open();
    const { items } = await load(session);
    const [first] = items;
    say({ type: 'pin', id: first?.id ?? '', pinned: true });
    say({ type: 'detail', generation: session.generation, offset: 0, id: first?.id ?? '' });
    say({ type: 'search', query: 'the' });
    await vi.waitUntil(() => page.last('pinned') && page.last('detail') && page.last('hits'), PATIENCE);
    expect(page.last('pinned')?.ids).toEqual([first?.id]);
    expect(page.last('detail')?.id).toBe(first?.id);
    expect(page.last('hits')?.hits.length).toBeGreaterThan(0);
  });

  test('a server that stops is shown as stopped, with what brings it back', async () => {
    await open();
    parts.health.fire({ kind: 'stopped', reason: 'It crashed.' });
    expect(page.last('server')).toMatchObject({ state: 'down', text: 'It crashed.', actions: ['restart', 'problem', 'log'] });
    parts.health.fire({ kind: 'missing', reason: 'None.', fixable: true, lacksPython: false });
    expect(page.last('server')).toMatchObject({ state: 'down', actions: ['setUp', 'problem'] });
    parts.health.fire({ kind: 'running', version: '0.1.0', misfit: '' });
    expect(page.last('server')).toMatchObject({ state: 'running', text: '' });
  });

  test('what no page of ours says is not answered', async () => {
    await open();
    const before = page.received.length;
    page.say({ type: 'command', name: 'workbench.action.quit' });
    page.say({ type: 'load', generation: 1, offset: -1, limit: 5 });
    expect(page.received).toHaveLength(before);
  });
});
