/** The search in what the user's team shares. */
import { beforeEach, expect, test, vi } from 'vitest';

import { search } from '../../src/commands/archive';
import type { Method, TeamOpenResult, TeamSearchResult } from '../../src/protocol.gen';
import type { Ullage } from '../../src/ullage';
import { PATIENCE } from './patience';
import { example } from './samples';
import { window } from './vscode';

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
