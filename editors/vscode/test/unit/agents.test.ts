/** Commands on agents: new sessions, and their settings. Nothing is written before the user agrees. */
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { ResponseError } from 'vscode-jsonrpc/node';

import { commandLine, continueSession, figureOf, waysOf, wire } from '../../src/commands/agents';
import type { Ullage } from '../../src/extension';
import {
  AgentsUnwire,
  AgentsWire,
  ContinuingChoices,
  type ContinuingChoicesResult,
  ContinuingPreview,
  type ContinuingResult,
  ContinuingWrite,
  type FileDifference,
  type Method,
  type WiringResult,
} from '../../src/protocol.gen';
import { example, PATIENCE } from './support';
import { env, window } from './vscode';

describe('a new session of an agent', () => {
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
});

describe("Ullage in agents' settings", () => {
  const previewed = example('agents.wire.preview.result.json') as WiringResult;
  const made = example('agents.wire.result.json') as WiringResult;
  const expired = new ResponseError(1105, 'the settings have changed', { kind: 'PreviewExpired' });

  beforeEach(() => { vi.resetAllMocks(); });

  interface Opened {
    readonly ullage: Ullage;
    readonly requests: unknown[];
    readonly shown: string[];
    readonly closed: string[];
  }

  /** Answers previews with `preview`; of the changes the first fail with `failures`. */
  function opened(preview: WiringResult, failures: readonly Error[] = []): Opened {
    const left = [...failures];
    const [requests, shown, closed]: [unknown[], string[], string[]] = [[], [], []];
    const request = (method: Method<unknown, unknown>, params: { dryRun?: boolean }): Promise<WiringResult> => {
      requests.push([method.name, params]);
      if (params.dryRun) return Promise.resolve(preview);
      const failure = left.shift();
      return failure ? Promise.reject(failure) : Promise.resolve(made);
    };
    const show = (name: string, files: readonly FileDifference[]): Promise<() => Promise<void>> => {
      const title = [name, ...files.map((file) => file.path)].join(' ');
      shown.push(title);
      return Promise.resolve(() => Promise.resolve(closed.push(title)).then());
    };
    return { ullage: { sessions: { request }, differences: { show } } as unknown as Ullage, requests, shown, closed };
  }

  const said = (): unknown => window.showInformationMessage.mock.calls.at(-1)?.[0];

  test('the difference is shown, and nothing is changed without a yes', async () => {
    const { ullage, requests, shown, closed } = opened(previewed);
    await wire(ullage);
    expect(shown).toEqual(['Claude Code /home/ada/.claude/settings.json']);
    expect(closed).toEqual(shown);
    expect(requests).toEqual([[AgentsWire.name, { dryRun: true }], [AgentsWire.name, { agent: 'claude-code', dryRun: true }]]);
  });

  test('with a yes the previewed change is made, and the user is told when it takes effect', async () => {
    window.showInformationMessage.mockResolvedValueOnce('Add');
    const { ullage, requests } = opened(previewed);
    await wire(ullage);
    expect(requests.at(-1)).toEqual([AgentsWire.name, { agent: 'claude-code', previewId: previewed.previewId }]);
    expect(said()).toBe('Added to Claude Code. It takes effect in its next session, or at once.');
  });

  test('settings that change while the user reads are shown again', async () => {
    window.showInformationMessage.mockResolvedValueOnce('Add').mockResolvedValueOnce('Add');
    const { ullage, shown } = opened(previewed, [expired]);
    await wire(ullage);
    expect(shown).toHaveLength(2);
    expect(said()).toMatch(/^Added to/);
  });

  test('another failure is passed on, and the difference is closed', async () => {
    window.showInformationMessage.mockResolvedValueOnce('Add');
    const { ullage, shown, closed } = opened(previewed, [new Error('cannot write')]);
    await expect(wire(ullage)).rejects.toThrow('cannot write');
    expect(closed).toEqual(shown);
  });

  test('of several agents the user chooses', async () => {
    const [agent] = previewed.agents;
    if (!agent) throw new Error('the example has no agent');
    const { ullage, requests } = opened({ ...previewed, agents: [agent, { ...agent, agent: 'Codex', word: 'codex' }] });
    window.showQuickPick.mockImplementationOnce((items: readonly unknown[]) => Promise.resolve(items.slice(1)));
    await wire(ullage);
    expect(requests.at(-1)).toEqual([AgentsWire.name, { agent: 'codex', dryRun: true }]);
  });

  test.each([
    ['no agent is there', wire, { ...previewed, agents: [] }, /^No agent is on this machine/],
    ['it is there already', wire, { ...previewed, agents: previewed.agents.map((agent) => ({ ...agent, files: [] })) }, /^Claude Code has it already/],
  ])('where %s nothing is asked', async (_, command, preview, words) => {
    const { ullage, shown } = opened(preview);
    await command(ullage);
    expect(said()).toMatch(words);
    expect(shown).toEqual([]);
  });

  test('what was added is taken out again after the same question', async () => {
    window.showInformationMessage.mockResolvedValueOnce('Take Out…').mockResolvedValueOnce('Take Out');
    const wired = { ...previewed, agents: previewed.agents.map((agent) => ({ ...agent, wired: true, files: [] })) };
    const { ullage, requests, shown } = opened(wired);
    await wire(ullage);
    expect(shown).toHaveLength(1);
    expect(requests.at(-1)).toEqual([AgentsUnwire.name, { agent: 'claude-code', previewId: previewed.previewId }]);
  });

  test('options are chosen before the change, which is shown again with them and made with them', async () => {
    window.showInformationMessage.mockResolvedValueOnce('Options…').mockResolvedValueOnce('Add');
    window.showQuickPick.mockImplementationOnce((items: readonly { name: string }[]) => Promise.resolve(items.filter(({ name }) => name === 'fillNotes')));
    const { ullage, requests, shown, closed } = opened(previewed);
    await wire(ullage);
    const options = { statusLine: false, fillNotes: true };
    expect(shown).toHaveLength(2);
    expect(closed).toEqual(shown);
    expect(requests.slice(-2)).toEqual([
      [AgentsWire.name, { agent: 'claude-code', ...options, dryRun: true }],
      [AgentsWire.name, { agent: 'claude-code', ...options, previewId: previewed.previewId }],
    ]);
  });

  test('where the agent has it already its options can be chosen, and those that it has are ticked', async () => {
    window.showInformationMessage.mockResolvedValueOnce('Options…');
    window.showQuickPick.mockResolvedValueOnce(undefined);
    const { ullage, requests } = opened({ ...previewed, agents: previewed.agents.map((agent) => ({ ...agent, files: [] })) });
    await wire(ullage);
    expect(window.showQuickPick.mock.calls[0]?.[0]).toMatchObject(previewed.agents[0]?.options.map(({ name, on }) => ({ name, picked: on })) ?? []);
    expect(requests.at(-1)).toEqual([AgentsWire.name, { agent: 'claude-code', dryRun: true }]);
  });

  test('an agent whose settings are broken says why, and is not chosen by itself', async () => {
    const [agent] = previewed.agents;
    if (!agent) throw new Error('the example has no agent');
    const broken = { ...agent, agent: 'Codex', word: 'codex', files: [], failed: true, notes: ['hooks.json: not JSON'] };
    await wire(opened({ ...previewed, agents: [agent, broken] }).ullage);
    expect(window.showQuickPick.mock.calls[0]?.[0]).toMatchObject([{ picked: true }, { picked: false, description: "its settings can't be changed", detail: 'hooks.json: not JSON' }]);
  });
});
