/** Commands on what was compacted: undo, the search, and the choice of a message. */
import { beforeEach, describe, expect, test, vi } from 'vitest';

import { archivedBehind, bringsBack, search, undo, undoSteps } from '../../src/commands/compaction';
import { pickAnyMessage } from '../../src/commands/messages';
import type { Ullage } from '../../src/extension';
import {
  ContextHistory,
  ContextMessages,
  ContextRestore,
  type Entry,
  type HistoryResult,
  type MessagesResult,
  type Method,
  type RevertResult,
  type TeamOpenResult,
  type TeamSearchResult,
} from '../../src/protocol.gen';
import { edit, example, PATIENCE, usage } from './support';
import { window } from './vscode';

describe('undo', () => {
  beforeEach(() => { vi.clearAllMocks(); });

  test('edits made together are one step, undone ones none, the newest is first', () => {
    const edits = [
      edit({ id: 'e_1', tokensSaved: 10 }),
      edit({ id: 'e_2', reverted: true }),
      edit({ id: 'e_3', kind: 'shorten', tokensSaved: 5, partOf: 'e_4' }),
      edit({ id: 'e_4', tokensSaved: 20 }),
    ];
    expect(undoSteps(edits).map((step) => [step.edit.id, step.tokens])).toEqual([['e_4', 25], ['e_1', 10]]);
  });

  test('undo says what it brings back', () => {
    const steps = undoSteps([edit()]);
    expect(bringsBack(steps, 44, 31_000, 156_000)).toBe(
      'Brings back 44 messages, 122K tokens; the context will be at 98% (153K of 156K).',
    );
    expect(bringsBack(steps, 0, 31_000, null)).toBe('Brings back 122K tokens; the context will be at 153,000 tokens.');
  });

  test('the golden history and its marker give the messages that were archived', () => {
    const { edits } = example('context.history.result.json') as HistoryResult;
    const { entries } = example('context.messages.result.json') as MessagesResult;
    expect(archivedBehind(undoSteps(edits), entries)).toBe(33);
  });

  test('a reverted compaction is listed with its parts', () => {
    const { edits } = example('context.restore.result.json') as RevertResult;
    expect(undoSteps(edits)).toHaveLength(0);
    expect(undoSteps(edits.map((one) => ({ ...one, reverted: false })))).toHaveLength(1);
  });

  /** Two compactions in force, and what is asked of the server. */
  function twice(): { readonly ullage: Ullage; readonly requests: [string, unknown][] } {
    const requests: [string, unknown][] = [];
    const answers: Record<string, unknown> = {
      [ContextHistory.name]: { edits: [edit({ id: 'e_1' }), edit({ id: 'e_2' })] },
      [ContextMessages.name]: { entries: [], total: 0 },
      [ContextRestore.name]: { usage: { used: 164_000 } },
    };
    const request = (method: { readonly name: string }, params: unknown): Promise<unknown> => {
      requests.push([method.name, params]);
      return Promise.resolve(answers[method.name]);
    };
    return { ullage: { sessions: { activeSessionId: 's_1', request, refreshEdits: () => Promise.resolve(), usage: usage() } } as unknown as Ullage, requests };
  }

  test('of several compactions the user chooses how far to go back, having read what each way takes back', async () => {
    const { ullage, requests } = twice();
    window.showQuickPick.mockImplementationOnce((items: readonly unknown[]) => Promise.resolve(items[0]));
    window.showInformationMessage.mockResolvedValueOnce('Restore');
    await undo(ullage);
    const items = window.showQuickPick.mock.calls[0]?.[0] as readonly { description: string }[];
    expect(items.map(({ description }) => description)).toEqual(['takes back 1 edit', 'takes back 2 edits']);
    expect(requests.find(([name]) => name === ContextRestore.name)).toEqual([ContextRestore.name, { sessionId: 's_1', editId: 'e_1' }]);
  });

  test('a user who says no to going back changes nothing', async () => {
    const { ullage, requests } = twice();
    window.showQuickPick.mockImplementationOnce((items: readonly unknown[]) => Promise.resolve(items[1]));
    window.showInformationMessage.mockResolvedValueOnce(undefined);
    await undo(ullage);
    expect(requests.map(([name]) => name)).not.toContain(ContextRestore.name);
  });
});

describe('the search in what a team shares', () => {
  const FOUND = example('team.search.result.json') as TeamSearchResult;
  const WHOLE = example('team.open.result.json') as TeamOpenResult;

  beforeEach(() => { vi.clearAllMocks(); });

  /** A picker whose user types, then chooses the first item or leaves. */
  class Pick {
    readonly show = vi.fn();
    readonly dispose = vi.fn();
    items: readonly { label: string; description?: string; detail?: string }[] = [];
    title = '';
    busy = false;
    type: (value: string) => void = () => undefined;
    accept: () => void = () => undefined;
    get activeItems(): readonly unknown[] { return this.items.slice(0, 1); }
    onDidHide(): void { /* the user stays */ }
    onDidAccept(accept: () => void): void { this.accept = accept; }
    onDidChangeValue(type: (value: string) => void): void { this.type = type; }
  }

  function rig(answer: () => Promise<unknown>, opens: () => Promise<unknown> = () => Promise.resolve(WHOLE)): { pick: Pick; shown: ReturnType<typeof vi.fn>; asked: unknown[]; done: Promise<unknown> } {
    const pick = new Pick();
    window.createQuickPick.mockReturnValue(pick);
    const asked: unknown[] = [];
    const shown = vi.fn(() => Promise.resolve());
    const request = ({ name }: Method<unknown, unknown>, params: unknown): Promise<unknown> => { asked.push([name, params]); return name === 'ullage/team/open' ? opens() : answer(); };
    const done = search({ sessions: { request }, messages: { show: shown } } as unknown as Ullage);
    return { pick, shown, asked, done };
  }

  test('what is typed last is searched once, and whose each hit is stands first', async () => {
    const { pick, shown, asked, done } = rig(() => Promise.resolve(FOUND));
    pick.type('pro');
    pick.type('proxy ');
    await vi.waitFor(() => { expect(pick.items).toHaveLength(2); }, PATIENCE);
    expect(asked).toEqual([['ullage/team/search', { query: 'proxy', limit: 30 }]]);
    expect(pick.items[0]).toMatchObject({ label: 'boris · Deploy of the proxy', description: '#41 assistant · /home/boris/weather' });
    expect(pick.items[0]?.detail).toBe('The proxy needs port 8443: nginx on staging answers 502');
    // The user who speaks in the copy is not the one who reads it.
    expect(pick.items[1]).toMatchObject({ label: 'carla · /srv/gateway', description: '#3 carla' });
    pick.accept();
    await done;
    expect(asked[1]).toEqual(['ullage/team/open', example('team.open.params.json')]);
    expect(shown).toHaveBeenCalledWith(expect.any(String), 'boris #41 assistant', WHOLE.text);
    expect(pick.dispose).toHaveBeenCalled();
  });

  test('a message that is shared no longer is not shown, and the error says why', async () => {
    const { pick, shown, done } = rig(() => Promise.resolve(FOUND), () => Promise.reject(new Error('no conversation')));
    pick.type('proxy');
    await vi.waitFor(() => { expect(pick.items).toHaveLength(2); }, PATIENCE);
    pick.accept();
    await expect(done).rejects.toThrow('no conversation');
    expect(shown).not.toHaveBeenCalled();
  });

  test('without an archive the list says how to choose one', async () => {
    const { pick } = rig(() => Promise.reject(new Error("which team's archive? Name it")));
    pick.type('proxy');
    await vi.waitFor(() => { expect(pick.title).toBe("which team's archive? Name it"); }, PATIENCE);
    expect(pick.items).toHaveLength(0);
  });
});

describe('the choice of any message', () => {
  const TOTAL = 10_000;

  beforeEach(() => { vi.clearAllMocks(); });

  function entry(index: number): Entry {
    const message = { id: `m_${index}`, role: 'user', content: [{ type: 'text', text: `Say ${index + 1}` }] } as unknown as Entry['message'];
    return { message, index, tokens: 5, archived: index < 9_950, pinned: false, inserted: false, byAgent: false };
  }

  /** A picker whose user types and chooses. */
  class Pick {
    readonly show = vi.fn();
    readonly dispose = vi.fn();
    items: readonly { label: string; description?: string }[] = [];
    activeItems: readonly unknown[] = [];
    busy = false;
    title = '';
    type: (value: string) => void = () => undefined;
    #accept: () => void = () => undefined;
    onDidHide(): void { /* the user stays */ }
    onDidAccept(accept: () => void): void { this.#accept = accept; }
    onDidChangeValue(type: (value: string) => void): void { this.type = type; }
    choose(label: RegExp): void {
      this.activeItems = [this.items.find((item) => label.test(item.label))];
      this.#accept();
    }
  }

  interface Rig {
    readonly pick: Pick;
    readonly requests: (readonly [string, Record<string, unknown>])[];
    readonly chosen: ReturnType<typeof pickAnyMessage>;
  }

  async function rig(total = TOTAL): Promise<Rig> {
    const pick = new Pick();
    window.createQuickPick.mockReturnValue(pick);
    const requests: (readonly [string, Record<string, unknown>])[] = [];
    const request = (method: Method<unknown, unknown>, params: Record<string, unknown>): Promise<unknown> => {
      requests.push([method.name, params]);
      if (method !== ContextMessages) return Promise.resolve({ hits: [{ messageId: 'm_41', index: 41, role: 'user', snippet: 'the **port**' }], unread: 0, note: '' });
      const { offset, limit } = params as { offset: number; limit: number };
      const indexes = Array.from({ length: limit }, (_, at) => offset + at).filter((index) => index < total);
      return Promise.resolve({ entries: indexes.map(entry), total });
    };
    const chosen = pickAnyMessage({ sessions: { request } } as unknown as Ullage, 's_5', 'Choose');
    await vi.waitFor(() => { expect(requests.length > 0 && !pick.busy).toBe(true); }, PATIENCE);
    return { pick, requests, chosen };
  }

  test('of a long conversation the newest page is read, and older ones when they are asked for', async () => {
    const { pick, requests, chosen } = await rig();
    expect(requests.map(([, { offset, limit }]) => [offset, limit])).toEqual([[0, 1], [9_900, 100]]);
    expect(pick.items[0]).toMatchObject({ label: '#10000 you  Say 10000', description: '5 tokens' });
    expect(pick.items[99]).toMatchObject({ label: '#9901 you  Say 9901', description: 'archived' });
    expect(pick.items.at(-1)?.label).toContain('Older messages (9,900 more)');
    pick.choose(/Older/);
    await vi.waitFor(() => { expect(pick.items).toHaveLength(201); }, PATIENCE);
    expect(pick.activeItems).toEqual([expect.objectContaining({ label: '#9900 you  Say 9900' })]);
    pick.choose(/#9801 /);
    expect((await chosen)?.messageId).toBe('m_9800');
    expect(pick.dispose).toHaveBeenCalled();
  });

  test('a number finds its message in the whole conversation, and words find what the search finds', async () => {
    const { pick, requests, chosen } = await rig();
    pick.type('#12');
    await vi.waitFor(() => { expect(pick.items[1]?.label).toBe('#12 you  Say 12'); }, PATIENCE);
    pick.type('port');
    await vi.waitFor(() => { expect(pick.items[1]?.label).toContain('the port'); }, PATIENCE);
    expect(requests.at(-1)?.[1]).toMatchObject({ sessionId: 's_5', query: 'port' });
    pick.choose(/the port/);
    expect(await chosen).toMatchObject({ messageId: 'm_41', index: 41 });
  });

  test('a short conversation has one page and nothing older', async () => {
    const { pick } = await rig(3);
    expect(pick.items.map(({ label }) => label)).toEqual(['#3 you  Say 3', '#2 you  Say 2', '#1 you  Say 1']);
  });
});
