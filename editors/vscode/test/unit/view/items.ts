/** Items for tests of the Context view. */
import type { Item, Marker, Part } from '../../../src/view/messages';

export function item(id: string, change: Partial<Item> = {}): Item {
  return {
    id,
    index: Number(id.replace(/\D/g, '')) || 0,
    role: 'user',
    tokens: 10,
    archived: false,
    pinned: false,
    replaced: null,
    parts: [{ kind: 'text', text: id, more: false }],
    marker: null,
    ...change,
  };
}

export function items(count: number, change: Partial<Item> = {}): Item[] {
  return Array.from({ length: count }, (_, i) => item(`m${i}`, change));
}

export const call = (id: string): Part => ({ kind: 'tool_use', id, name: 'run', argument: 'pytest' });
export const result = (id: string, failed = false, text = 'fine'): Part => ({ kind: 'tool_result', id, failed, text, more: false });

export const marker: Marker = {
  editId: 'e1',
  number: 1,
  timestamp: 0,
  trigger: 'automatic',
  summary: '## Task\n- **one** `two`',
  summarizer: 'offline',
  messagesArchived: 44,
  before: 150_000,
  after: 28_000,
  ledger: { files: [{ path: 'a.py', action: 'read', times: 2 }], commands: [], identifiers: [] },
};
