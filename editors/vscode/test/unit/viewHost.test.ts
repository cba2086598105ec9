/** The extension's side of the view, between a page that is a list of messages and a real server. */
import * as path from 'node:path';

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type * as vscode from 'vscode';

import {
  ContextCompact,
  ContextGivenBack,
  ContextUndo,
  type EditInfo,
  type Entry,
  type GivenBackResult,
  type HistoryResult,
  type LostResult,
  type MessagesResult,
  type Method,
  SessionAppend,
  SessionImport,
  SessionNew,
} from '../../src/protocol.gen';
import { Sessions } from '../../src/sessions';
import { asPaste } from '../../src/terminals';
import { pageHtml } from '../../src/view/html';
import { type HostMessage, type HostMessageOf, isHostMessage, isPageMessage, type PageMessage } from '../../src/view/messages';
import { findReplacements, inForce, replacesContents, toItem, wholeParts } from '../../src/view/transcriptFeed';
import { LostHost, ViewHost } from '../../src/view/viewHost';
import { example, exampleNames, hasServer, PATIENCE, RealServer, repository } from './support';
import { item, marker, PageStub, type TestParts, viewParts } from './viewSupport';

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
    const before = page.all('session').length;
    say({ type: 'ready' });
    // A page that is ready is shown the transcript from its end again.
    return vi.waitUntil(() => page.all('session')[before], PATIENCE);
  }

  async function load({ generation, total }: HostMessageOf<'session'>): Promise<HostMessageOf<'entries'>> {
    say({ type: 'load', generation, offset: 0, limit: total });
    return vi.waitUntil(() => page.all('entries').find((entries) => entries.generation === generation && entries.offset === 0), PATIENCE);
  }

  test('a page without a session gets a message that says so', () => {
    say({ type: 'ready' });
    expect(page.last('session')).toMatchObject({ sessionId: null });
  });

  test('figures of another conversation come only with its title', async () => {
    const { sessionId } = await open();
    await vi.waitUntil(() => page.last('usage'), PATIENCE);
    const other = await sessions.request(SessionNew, { title: 'other', model: 'gpt-4o' });
    const before = page.received.length;
    await sessions.activate(other);
    await vi.waitUntil(() => page.last('usage')?.usage.model === 'gpt-4o', PATIENCE);
    const since = page.received.slice(before);
    const named = since.findIndex((message) => message.type === 'session' && message.sessionId === other.sessionId);
    expect(named).toBeGreaterThanOrEqual(0);
    expect(since.findIndex(({ type }) => type === 'usage')).toBeGreaterThan(named);
    expect(other.sessionId).not.toBe(sessionId);
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

describe('what a compaction left out', () => {
  const golden = example('context.lost.result.json') as LostResult;
  const given = example('context.givenBack.result.json') as GivenBackResult;

  /** A terminal that keeps what is typed into it. */
  class Typed {
    readonly name = 'zsh';
    readonly texts: (readonly [string, boolean | undefined])[] = [];
    readonly sendText = (text: string, enter?: boolean): void => { this.texts.push([text, enter]); };
    readonly show = (): void => { /* nothing is on screen here */ };
  }

  function hosted(answer: () => Promise<LostResult>, terminals: readonly (Typed | undefined)[]): { readonly host: LostHost; readonly posted: HostMessage[] } {
    const posted: HostMessage[] = [];
    const left = [...terminals];
    const host = new LostHost({
      model: { request: ((method: Method<unknown, unknown>) => (method === ContextGivenBack ? Promise.resolve(given) : answer())) as never },
      terminals: { of: () => Promise.resolve(left.shift() as vscode.Terminal | undefined) },
      post: (message) => posted.push(message),
    });
    return { host, posted };
  }

  test('the brief is pasted into the agent’s terminal, and Enter is not pressed', async () => {
    const terminal = new Typed();
    const { host, posted } = hosted(() => Promise.resolve(golden), [terminal, terminal]);
    await host.show('s_5', 'e_22');
    expect(posted[0]).toMatchObject({ type: 'lost', lost: { terminal: 'zsh', counts: golden.counts, brief: golden.brief } });
    await host.giveBack('s_5', 'e_22');
    expect(terminal.texts).toEqual([[asPaste(golden.brief), false]]);
    expect(posted[1]).toMatchObject({ type: 'notice', severity: 'info' });
  });

  test('an agent that has ended meanwhile is sent nothing, and the user is told', async () => {
    const terminal = new Typed();
    const { host, posted } = hosted(() => Promise.resolve(golden), [terminal, undefined]);
    await host.show('s_5', 'e_22');
    await host.giveBack('s_5', 'e_22');
    expect(terminal.texts).toEqual([]);
    expect(posted[1]).toMatchObject({ type: 'notice', severity: 'warning' });
  });

  test('a page can send nothing that it was not given', async () => {
    const terminal = new Typed();
    const { host, posted } = hosted(() => Promise.resolve(golden), [terminal, terminal]);
    await host.show('s_5', 'e_22');
    await host.giveBack('s_5', 'e_21');
    expect(terminal.texts).toEqual([]);
    expect(posted).toHaveLength(1);
  });

  test('a failure is shown at the marker', async () => {
    const { host, posted } = hosted(() => Promise.reject(new Error('no compaction')), []);
    await host.show('s_5', 'e_22');
    expect(posted[0]).toMatchObject({ type: 'lost', lost: { editId: 'e_22', error: 'no compaction', entries: [] } });
  });

  test('a paste has no line feed and nothing that ends it early', () => {
    expect(asPaste('one\r\ntwo\nthree')).toBe('\u001b[200~one\rtwo\rthree\u001b[201~');
    expect(asPaste('a\u001b[201~\rb\u009b201~c\u0003')).toBe('\u001b[200~a[201~b201~c\u001b[201~');
  });

  test('what hooks gave back comes with the compaction that it was given after, and with no other', async () => {
    const { host, posted } = hosted(() => Promise.resolve(golden), []);
    const [row] = given.rows;
    await host.show('s_5', row?.editId ?? '');
    await host.show('s_5', 'e_1');
    const rows = posted.map((message) => (message.type === 'lost' ? message.lost.given : undefined));
    expect(rows).toEqual([[{ at: row?.at, why: 'compact', tokens: 31, text: row?.text }], []]);
  });
});

describe('entries', () => {
  const { edits } = example('context.history.result.json') as HistoryResult;

  test.each(exampleNames('context.messages.').filter((name) => name.endsWith('.result.json')))('every entry of %s becomes an item the page takes', (name) => {
    const { entries, total } = example(name) as MessagesResult;
    const shown = entries.map((entry) => toItem(entry, edits, new Map()));
    expect(shown).toHaveLength(entries.length);
    expect(isHostMessage({ type: 'entries', generation: 1, offset: 0, total, items: shown })).toBe(true);
  });

  test('blank texts, which some models put before their thinking, are not drawn', () => {
    const content = [{ type: 'text' as const, text: ' \n' }, { type: 'thinking' as const, thinking: 'Hm.' }, { type: 'text' as const, text: 'Yes.' }];
    const message = { id: 'm', role: 'assistant' as const, content, timestamp: 0 };
    expect(wholeParts(message).map(({ kind }) => kind)).toEqual(['thinking', 'text']);
  });

  test('a marker knows the edit that undoes it', () => {
    const { entries } = example('context.messages.result.json') as MessagesResult;
    const shown = entries.map((entry) => toItem(entry, edits, new Map())).find((each) => each.marker);
    const edit = edits.find(({ kind }) => kind === 'compaction');
    const block = entries.flatMap(({ message }) => message.content).find(({ type }) => type === 'context_compaction');
    expect(block).toMatchObject({ compaction_number: 1, messages_archived: shown?.marker?.messagesArchived });
    expect(shown?.marker).toMatchObject({ editId: edit?.id, number: 1, trigger: 'automatic' });
    expect(shown?.marker?.before).toBeGreaterThan(shown?.marker?.after ?? Infinity);
  });

  function entry(text: string): Entry {
    return { message: { id: 'm1', role: 'user', content: [{ type: 'text', text }] }, index: 1, tokens: 1, archived: false, pinned: false, inserted: false, byAgent: false };
  }

  test('a row’s text is cut, the whole one is not', () => {
    const long = entry('x'.repeat(5_000));
    const [part] = toItem(long, [], new Map()).parts;
    expect(part).toMatchObject({ kind: 'text', more: true });
    expect(JSON.stringify(part).length).toBeLessThan(700);
    expect(wholeParts(long.message)).toEqual([{ kind: 'text', text: 'x'.repeat(5_000), more: false }]);
  });

  test('a row says who wrote it: the user, or the agent’s program in the user’s place', () => {
    expect(toItem(entry('Fix it.'), [], new Map()).role).toBe('user');
    expect(toItem({ ...entry('<system-reminder>'), byAgent: true }, [], new Map()).role).toBe('agent');
  });

  test('contents that an edit replaced are found by comparing with the context', () => {
    const shown = new Map([['m1', entry('cleared').message]]);
    expect(findReplacements([entry('long output')], shown)).toEqual(new Map([['m1', 'cleared']]));
    expect(findReplacements([entry('cleared')], shown)).toEqual(new Map());
    expect(findReplacements([entry('long output')], new Map())).toEqual(new Map());
  });

  test('only edits in force count', () => {
    const cleared: EditInfo = { id: 'e9', kind: 'clear_tool_uses', timestamp: 1, trigger: 'automatic', tokensSaved: 9 };
    expect(replacesContents([cleared])).toBe(true);
    expect(replacesContents([{ ...cleared, reverted: true }])).toBe(false);
    expect(inForce([cleared, { ...cleared, id: 'e10', reverted: true }])).toBe('e9');
  });

  test('the page’s policy lets in our own script and style alone', () => {
    const html = pageHtml({ script: 'https://x/a.js', style: 'https://x/a.css', source: 'https://x', nonce: 'n0nce', language: 'de', texts: { Context: 'Kontext</script><b>' } });
    expect(html).toContain(`default-src 'none'; style-src https://x; script-src 'nonce-n0nce'; base-uri 'none'; form-action 'none'`);
    expect(html).not.toContain('unsafe');
    // A translation is text, whatever is in it.
    expect(html).not.toContain('<b>');
  });
});

describe('messages between page and extension', () => {
  test('messages of the page are known by their type and fields', () => {
    expect(isPageMessage({ type: 'ready' })).toBe(true);
    expect(isPageMessage({ type: 'load', generation: 1, offset: 0, limit: 200 })).toBe(true);
    expect(isPageMessage({ type: 'command', name: 'compact' })).toBe(true);
  });

  test.each([undefined, null, 'ready', [], {}, { type: 'nothing' }, { type: 'toString' }, { type: 'load', generation: 1, offset: -1, limit: 1 }, { type: 'load', generation: 1 }, { type: 'pin', id: 1, pinned: true }, { type: 'command', name: 'workbench.action.quit' }])(
    'what the page never says is refused: %j',
    (message) => {
      expect(isPageMessage(message)).toBe(false);
    },
  );

  test('entries are checked down to their parts', () => {
    const entries = (one: unknown) => ({ type: 'entries', generation: 1, offset: 0, total: 1, items: [one] });
    expect(isHostMessage(entries(item('m1', { marker })))).toBe(true);
    expect(isHostMessage(entries({ ...item('m1'), parts: [{ kind: 'text' }] }))).toBe(false);
    expect(isHostMessage(entries({ ...item('m1'), role: 'robot' }))).toBe(false);
  });
});
