/** What the tests of the Context view share: items, a page that only listens, and the view's parts. */
import type * as vscode from 'vscode';

import type { Health } from '../../src/health';
import type { Sessions } from '../../src/sessions';
import { type HostMessage, type HostMessageOf, isHostMessage, type Item, type Marker, type Part } from '../../src/view/messages';
import type { ViewParts } from '../../src/view/viewHost';
import { running } from './support';
import { EventEmitter } from './vscode';

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

export class PageStub {
  readonly #says = new EventEmitter<unknown>();
  readonly received: HostMessage[] = [];
  readonly onDidReceiveMessage = this.#says.event;

  postMessage(message: unknown): Promise<boolean> {
    // Messages to a page are sent as JSON.
    const arrived: unknown = JSON.parse(JSON.stringify(message));
    if (!isHostMessage(arrived)) throw new Error(`no message of ours: ${JSON.stringify(arrived).slice(0, 300)}`);
    this.received.push(arrived);
    return Promise.resolve(true);
  }

  say(message: unknown): void {
    this.#says.fire(message satisfies unknown);
  }

  all<T extends HostMessage['type']>(type: T): HostMessageOf<T>[] {
    return this.received.filter((message): message is HostMessageOf<T> => message.type === type);
  }

  last<T extends HostMessage['type']>(type: T): HostMessageOf<T> | undefined {
    return this.all(type).at(-1);
  }
}

export interface TestParts extends ViewParts {
  readonly health: vscode.EventEmitter<Health>;
}

export function viewParts(sessions: Sessions): TestParts {
  const health: vscode.EventEmitter<Health> = new EventEmitter<Health>();
  return {
    model: sessions,
    terminals: { of: () => Promise.resolve(undefined) },
    connection: { health: running, onDidChangeHealth: health.event },
    health,
  };
}
