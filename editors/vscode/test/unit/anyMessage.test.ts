/** The choice of any message of a conversation: its pages, its number, and what a search finds. */
import { beforeEach, expect, test, vi } from 'vitest';

import { pickAnyMessage } from '../../src/commands/anyMessage';
import { ContextMessages, type Entry, type Method } from '../../src/protocol.gen';
import type { Ullage } from '../../src/ullage';
import { PATIENCE } from './patience';
import { window } from './vscode';

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
