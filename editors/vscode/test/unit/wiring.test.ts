/** Ullage in agents' settings: the user sees the change first, and exactly that change is made. */
import { beforeEach, expect, test, vi } from 'vitest';
import { ResponseError } from 'vscode-jsonrpc/node';

import { wire } from '../../src/commands/wiring';
import { AgentsUnwire, AgentsWire, type FileDifference, type Method, type WiringResult } from '../../src/protocol.gen';
import type { Ullage } from '../../src/ullage';
import { example } from './samples';
import { window } from './vscode';

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
  expect(said()).toBe('Added to Claude Code. It takes effect in its next session.');
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
