/** New sessions of agents: the words about them, and that nothing is written before the user agrees. */
import { beforeEach, expect, test, vi } from 'vitest';

import { commandLine, continueSession, figureOf, waysOf } from '../../src/commands/continuing';
import { ContinuingChoices, ContinuingPreview, ContinuingWrite, type ContinuingChoicesResult, type ContinuingResult, type Method } from '../../src/protocol.gen';
import type { Ullage } from '../../src/ullage';
import { PATIENCE } from './patience';
import { example } from './samples';
import { env, window } from './vscode';

const preview = example('continuing.preview.result.json') as ContinuingResult;
const choices = example('continuing.choices.result.json') as ContinuingChoicesResult;
const terminal = { show: vi.fn(), sendText: vi.fn() };

beforeEach(() => {
  vi.clearAllMocks();
  window.createTerminal.mockReturnValue(terminal);
});

type Request = readonly [name: string, params: unknown];

/** Answers requests, and lists them. A preview is what `planned` returns for its params. */
function opened(planned: (params: Record<string, unknown>) => ContinuingResult = () => preview): { readonly ullage: Ullage; readonly requests: Request[] } {
  const requests: Request[] = [];
  const answer = (method: Method<unknown, unknown>, params: Record<string, unknown>): unknown => {
    requests.push([method.name, params]);
    if (method === ContinuingChoices) return choices;
    return method === ContinuingPreview ? planned(params) : { ...preview, written: true };
  };
  const request = (method: Method<unknown, unknown>, params: Record<string, unknown>): Promise<unknown> => Promise.resolve().then(() => answer(method, params));
  return { ullage: { subjectId: 's_5', sessions: { request } } as unknown as Ullage, requests };
}

const names = (requests: readonly Request[]): string[] => requests.map(([name]) => name);

test('the figure says how full the new session is, of what, and what it leaves out', () => {
  expect(figureOf(preview)).toBe('31,240 of 200,000 tokens (16%), 92,160 before · 14 messages, 44 left out');
  expect(figureOf({ ...preview, size: null, before: null, leftOut: 0, messages: 1 })).toBe('31,240 tokens · 1 message');
});

test('the ways in the own agent come first, and an undo only where the agent has compacted', () => {
  const labels = (found: ContinuingChoicesResult): string[] => waysOf(found).map(({ label }) => label.replace(/\$\([\w-]+\) /, ''));
  expect(labels(choices)).toEqual([
    'Compacted · Claude Code',
    'Before compaction · Claude Code',
    'After a message… · Claude Code',
    'Whole · Codex',
    'Compacted · Codex',
  ]);
  expect(labels({ ...choices, beforeCompaction: false })).not.toContain('Before compaction · Claude Code');
});

test('the ways differ in what the narrowest picker shows of them', () => {
  // A window of 300 pixels shows about so many characters.
  const shown = waysOf(choices).map(({ label }) => label.replace(/\$\([\w-]+\) /, '').slice(0, 17));
  expect(new Set(shown).size).toBe(shown.length);
});

test('a word that a shell would divide is quoted', () => {
  expect(commandLine(['claude', '--resume', '7b1f-0c'], false)).toBe('claude --resume 7b1f-0c');
  expect(commandLine(['a b', "it's", '$(x)'], false)).toBe(`'a b' 'it'\\''s' '$(x)'`);
  expect(commandLine(['a b', 'c'], true)).toBe('"a b" c');
});

/** A picker whose user chooses an item once its figure has come. */
class ChoosingPick {
  readonly show = vi.fn();
  readonly dispose = vi.fn();
  readonly shown: string[][] = [];
  activeItems: readonly unknown[] = [];
  busy = false;
  #items: readonly { label: string; detail?: string }[] = [];
  #accept: () => void = () => undefined;
  get items(): readonly { label: string; detail?: string }[] {
    return this.#items;
  }
  set items(items: readonly { label: string; detail?: string }[]) {
    this.#items = items;
    this.shown.push(items.map(({ detail = '' }) => detail));
  }
  onDidHide(): void { /* the user stays */ }
  onDidAccept(accept: () => void): void { this.#accept = accept; }
  choose(at: number): void {
    this.activeItems = [this.#items[at]];
    this.#accept();
  }
}

/** Has the user choose a way by its place in the list, once all figures have come. */
async function goOn(ullage: Ullage, at: number): Promise<void> {
  const pick = new ChoosingPick();
  window.createQuickPick.mockReturnValue(pick);
  const done = continueSession(ullage);
  await vi.waitFor(() => { expect(pick.items.length > 0 && pick.items.every(({ detail }) => detail !== 'Counting…')).toBe(true); }, PATIENCE);
  pick.choose(at);
  await done;
}

test('the figure is shown before anything is written, and a user who goes back writes nothing', async () => {
  const { ullage, requests } = opened();
  window.showQuickPick.mockResolvedValueOnce(undefined);
  await goOn(ullage, 0);
  expect(window.showQuickPick.mock.calls[0]?.[1]).toMatchObject({ title: `Claude Code: ${figureOf(preview)}` });
  expect(names(requests)).not.toContain(ContinuingWrite.name);
  expect(window.createTerminal).not.toHaveBeenCalled();
});

test('a session that its agent may compact at once can be compacted first', async () => {
  const full = { ...preview, before: null, fits: false };
  const { ullage, requests } = opened(({ compacted }) => (compacted ? preview : full));
  window.showQuickPick.mockImplementationOnce((items: readonly unknown[]) => Promise.resolve(items[0]));
  window.showQuickPick.mockResolvedValueOnce(undefined);
  await goOn(ullage, 1);
  expect(requests.at(-1)?.[1]).toEqual({ sessionId: 's_5', beforeCompaction: true, compacted: true });
  const labels = window.showQuickPick.mock.calls.map(([items]) => (items as readonly { label: string }[]).map(({ label }) => label));
  expect(labels.map((found) => found.includes('$(fold) Compact it first, by Ullage'))).toEqual([true, false]);
});

test('with the user’s yes exactly the preview is written, and resumed in a terminal in its folder', async () => {
  const { ullage, requests } = opened();
  window.showQuickPick.mockImplementationOnce((items: readonly unknown[]) => Promise.resolve(items[0]));
  await goOn(ullage, 1);
  expect(requests.at(-1)).toEqual([ContinuingWrite.name, { previewId: preview.previewId }]);
  expect(window.createTerminal).toHaveBeenCalledWith({ name: 'Claude Code', cwd: preview.cwd });
  expect(terminal.sendText).toHaveBeenCalledWith(preview.command.join(' '));
});

test('the command can be copied in place of being run', async () => {
  const { ullage } = opened();
  window.showQuickPick.mockImplementationOnce((items: readonly unknown[]) => Promise.resolve(items[1]));
  await goOn(ullage, 0);
  expect(env.clipboard.writeText).toHaveBeenCalledWith(preview.shell);
  expect(window.createTerminal).not.toHaveBeenCalled();
});

test('the picker shows a figure for each way, and why a way is not possible', async () => {
  const pick = new ChoosingPick();
  window.createQuickPick.mockReturnValue(pick);
  const { ullage, requests } = opened((params) => {
    if (params['agent'] === 'codex') throw new Error('no new session can be made');
    return preview;
  });
  const done = continueSession(ullage);
  await vi.waitFor(() => { expect(pick.items.at(-1)?.detail).toContain('no new session can be made'); }, PATIENCE);
  expect(pick.shown[0]).toEqual(['Counting…', 'Counting…', 'Choose the message next', 'Counting…', 'Counting…']);
  expect(pick.items[1]?.detail).toBe(figureOf(preview));
  pick.choose(3);
  expect(window.showQuickPick).not.toHaveBeenCalled();
  pick.choose(1);
  await done;
  expect(window.showQuickPick).toHaveBeenCalledTimes(1);
  expect(names(requests)).not.toContain(ContinuingWrite.name);
});
