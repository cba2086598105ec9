/** Followed conversations: what is shown of them, when the user is asked, what a terminal has, and the tree. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type * as vscode from 'vscode';

import { choose, ConversationTree, figuresOf, type Node, statusOf, tooltipOf } from '../../src/conversations';
import { agentsHere, Following, type FollowingParts, type Live, liveFile, parse, places } from '../../src/following';
import type { Health } from '../../src/health';
import { Warnings } from '../../src/notices';
import {
  type FollowedConversation,
  type FollowingChange,
  FollowingKeep,
  FollowingStart,
  FollowingStop,
  type FoundTranscript,
  type KeepingQuestion,
  type Nearness,
} from '../../src/protocol.gen';
import { escapeMarkdown } from '../../src/statusBar';
import { match } from '../../src/terminals';
import { example, memory, PATIENCE, running } from './support';
import { commands, EventEmitter, window, workspace } from './vscode';

describe('following', () => {
  const { rows: [listed, opencode] } = example('following.list.result.json') as { rows: [FollowedConversation, FollowedConversation] };
  // Each test that is about a good moment or a limit has its own.
  const claude: FollowedConversation = { ...listed, moment: null, rateLimits: [] };
  const codex: FollowedConversation = { ...claude, sessionId: 's_codex', agent: 'Codex', agentShort: 'Codex', percent: 12, used: 24_000, processId: null, path: '/home/ada/.codex/rollout.jsonl', usedSource: 'reported' };
  const PROJECT = claude.cwd;
  const NOW = claude.updatedAt + 60_000;

  beforeEach(() => { vi.clearAllMocks(); });

  test('two agents in one item are listed fullest first, and the terminal’s own is marked', () => {
    const shown = choose([codex, claude, opencode], [PROJECT], codex.sessionId);
    expect(statusOf(shown, false, NOW)?.text).toBe('CC ~46% · ▸Codex 12%');
    expect(shown.subject).toBe(codex);
    expect(statusOf(choose([codex, claude], [PROJECT], undefined), false, NOW)?.text).toBe('CC ~46% · Codex 12%');
  });

  test('one agent has room for the place of its compaction', () => {
    expect(statusOf(choose([{ ...claude, cache: null }], [PROJECT], undefined), false, NOW)?.text).toBe('◔ CC ~46% · compacts at 84%');
  });

  test('what is not known is a question mark', () => {
    const shown = choose([opencode], [opencode.cwd], undefined);
    expect(statusOf(shown, false, NOW)?.text).toBe('opencode ? · Log in twice');
    expect(figuresOf(opencode, NOW)).toBe('? of ? · compacts at ? · ? calls left · 2 minutes ago');
  });

  test('the bar says how long the prompt is kept, and a compaction that comes by itself once that is near', () => {
    const cache = { until: NOW + 23 * 60_000, keeps: 3_600_000, source: 'promised', tokens: 92_000, warm: 0.046, cold: 1.9, miss: null } as const;
    const text = (row: Partial<FollowedConversation>): string | undefined => statusOf(choose([{ ...claude, ...row }], [PROJECT], undefined), false, NOW)?.text;
    expect(text({ cache })).toBe('◔ CC ~46% · compacts at 84% · warm 23 min');
    expect(text({ cache: { ...cache, until: NOW - 1 } })).toBe('◔ CC ~46% · compacts at 84% · cold');
    // One that promises nothing may keep it longer.
    expect(text({ cache: { ...cache, source: 'seen', until: NOW - 1 } })).toBe('◔ CC ~46% · compacts at 84%');
    expect(text({ cache: null, idle: { at: NOW + 3_600_000, setting: 's' } })).toBe('◔ CC ~46% · compacts at 84%');
    expect(text({ cache: null, idle: { at: NOW + 300_000, setting: 's' } })).toMatch(/^◔ CC ~46% · idle: compacts at \d\d:\d\d$/);
    expect(text({ cache, live: false })).not.toContain('warm');
    expect(text({ cache: null, nearness: 'compacting' })).toBe('◔ CC ~46% · compacting…');
  });

  test('the hover has the sums of the next prompt, why the last one was read again, and the setting that stops a compaction', () => {
    const cache = { until: NOW + 23 * 60_000, keeps: 3_600_000, source: 'promised', tokens: 92_000, warm: 0.046, cold: 1.9, miss: { at: NOW, cause: 'idle', tokens: 45_000 } } as const;
    const hover = (row: Partial<FollowedConversation>): string => tooltipOf(choose([{ ...claude, ...row }], [PROJECT], undefined), (text) => text, NOW);
    expect(hover({ cache })).toMatch(/warm until \d\d:\d\d; the next prompt costs \$0\.05 until then, \$1\.90 after it/);
    expect(hover({ cache })).toContain('45K tokens were last paid in full again after a pause');
    expect(hover({ cache: { ...cache, until: NOW - 1 } })).toContain('cold; the next prompt costs $1.90 ($0.05 while it is warm)');
    expect(hover({ cache: { ...cache, source: 'seen' } })).toContain('warm at least until');
    expect(hover({ cache: { ...cache, warm: 0.001, cold: 0.04, miss: { ...cache.miss, tokens: 900 } } })).not.toMatch(/costs|paid/);
    const moment = { at: 1, work: 'fix: refunds', tokens: 14_000, cost: 0.05 };
    expect(hover({ used: 310_000, cache: { ...cache, warm: 0.21 }, moment })).toContain('in place of 310K; the next prompt costs $0.05 there, $0.21 here, in 23 min $1.90: “fix: refunds”');
    expect(hover({ cache: { ...cache, warm: null } })).toMatch(/warm until \d\d:\d\d: 92K tokens/);
    expect(hover({ idle: { at: NOW + 60_000, setting: '"idleCompaction": false' } })).toContain('because it idles ("idleCompaction": false in its settings stops that)');
    for (const row of [{ idle: { at: NOW, setting: 's' } }, { idle: { at: NOW + 60_000, setting: 's' }, live: false }]) expect(hover(row)).not.toContain('idles');
  });

  test('bar and hover show the clock as the picture of the documents has it; `npx vitest run -u` renews that', async () => {
    const cache = { until: NOW + 9 * 60_000, keeps: 3_600_000, source: 'promised', tokens: 310_000, warm: 0.21, cold: 1.9, miss: { at: NOW, cause: 'idle', tokens: 45_000 } } as const;
    const more = {
      idle: { at: NOW + 300_000, setting: '"idleCompaction": false' },
      moment: { at: NOW, work: 'fix: refunds in two currencies', tokens: 14_000, cost: null },
      rateLimits: [{ name: '5h', percent: 42, until: null }, { name: '7d', percent: 80, until: null }],
    };
    const shown = choose([{ ...claude, title: 'Refunds in two currencies', used: 310_000, window: 400_000, percent: 78, compactsAt: 367_000, usedSource: 'reported', cache, ...more }], [PROJECT], undefined);
    const hover = tooltipOf(shown, (text) => text, NOW).replace(/\*\*|\(command:[^)]*\)/g, '').replace(/ +$/gm, '');
    const picture = `${statusOf(shown, false, NOW)?.text ?? ''}\n\n${hover}\n`.replace(/\d\d:\d\d/g, '14:32');
    await expect(picture).toMatchFileSnapshot('../../../../docs/pictures/vscode-clock.txt');
  });

  test('the hover has the limits of the subscription whose times have not ended, and a row without them is read', () => {
    const hover = (more: object): string => tooltipOf({ rows: [{ ...claude, ...more }], subject: undefined, terminal: undefined }, (text) => text, NOW);
    const limits = [{ name: '5h', percent: 42, until: NOW + 1 }, { name: '7d', percent: 80, until: null }, { name: '1h', percent: 9, until: NOW - 1 }];
    expect(hover({ rateLimits: limits })).toContain('limits: 5h 42%, 7d 80%');
    for (const none of [{ rateLimits: undefined }, { rateLimits: [] }, { rateLimits: limits.slice(2) }]) expect(hover(none)).not.toContain('limits');
    expect(hover({ used: 310_000, moment: { at: 1, work: 'fix: refunds', tokens: 14_000 } })).toContain('good moment: a new session begins with 14K in place of 310K: “fix: refunds” is committed and nothing is open');
  });

  test('a conversation that does not continue is named, and so is the one that the user has chosen to see', () => {
    const old = { ...codex, live: false, title: 'Move the sessions to another store' };
    expect(statusOf(choose([old], [PROJECT], undefined), false, NOW)?.text).toBe('◔ Codex 12% · Move the sessions to anothe…');
    const shown = choose([claude, { ...old, cwd: '/elsewhere' }], [PROJECT], undefined, old.sessionId);
    expect(statusOf(shown, false, NOW)?.text).toBe('CC ~46% · Move the sessions to anothe… 12%');
    expect(shown.subject?.sessionId).toBe(old.sessionId);
  });

  test('without a live conversation the newest of the folder is shown, and none of another folder', () => {
    const old = { ...claude, live: false };
    expect(choose([old, { ...opencode, live: true }], [PROJECT], undefined).rows).toEqual([old]);
    expect(choose([{ ...opencode, live: true }], [PROJECT], undefined)).toEqual({ rows: [], subject: undefined, terminal: undefined });
    expect(choose([{ ...claude, cwd: `${PROJECT}-2` }], [PROJECT], undefined).rows).toEqual([]);
  });

  test('the conversation of the active terminal is shown whatever its folder is', () => {
    expect(choose([claude, opencode], [PROJECT], opencode.sessionId).subject).toBe(opencode);
  });

  test('a quiet window shows a conversation when its compaction is imminent', () => {
    const shown = (nearness: Nearness): unknown => statusOf(choose([{ ...claude, nearness }], [PROJECT], undefined), true, NOW);
    expect(shown('near')).toBeUndefined();
    expect(shown('imminent')).toMatchObject({ tone: 'warning' });
  });

  test('a title in the tooltip draws no link', () => {
    const row = { ...claude, title: '[run me](command:evil) $(x)' };
    expect(tooltipOf(choose([row], [PROJECT], undefined), escapeMarkdown, NOW)).toContain('run me \\$\\(x\\)');
  });

  test('a terminal has the conversation whose process runs in it, else whose file is open in it, else that of its folder', () => {
    const tree = { processes: new Set([1, 2]), openFiles: new Set<string>(), cwd: PROJECT };
    expect(match([claude, codex], { ...tree, processes: new Set([1, 4711]) }, '')).toBe(claude.sessionId);
    expect(match([claude, codex], { ...tree, openFiles: new Set([codex.path]) }, '')).toBe(codex.sessionId);
    expect(match([claude, codex], tree, '')).toBe(codex.sessionId);
    expect(match([claude], tree, '')).toBeUndefined();
    expect(match([codex], { ...tree, processes: new Set([1]) }, '')).toBeUndefined();
  });

  test('folders that an unset variable would name are left out', () => {
    const found = places('linux', '/home/ada', { CODEX_HOME: '/data/codex' });
    expect(found).toContain('/home/ada/.claude/projects');
    expect(found).toContain('/data/codex/sessions');
    expect(found.join(' ')).not.toContain('$');
  });

  test('an agent is here if it has its folder for settings, where its variable says so or else at home', async () => {
    const home = await mkdtemp(join(tmpdir(), 'ullage-here-'));
    await mkdir(join(home, '.codex'));
    expect(await agentsHere(home, {})).toEqual(['codex']);
    expect(await agentsHere(home, { CODEX_HOME: join(home, 'elsewhere'), CLAUDE_CONFIG_DIR: join(home, '.codex') })).toEqual(['claude-code']);
    await rm(home, { recursive: true });
  });

  /** What another process writes, and what a test changes of it. */
  class Written {
    now: Live | undefined;
    changed: (() => void) | undefined;
    read = (): Promise<Live | undefined> => Promise.resolve(this.now);
    start(changed: () => void): void { this.changed = changed; }
    stop(): void { this.changed = undefined; }
  }

  interface Rig {
    readonly following: Following;
    readonly requests: string[];
    readonly changes: InstanceType<typeof EventEmitter<FollowingChange>>;
    readonly healths: InstanceType<typeof EventEmitter<Health>>;
    readonly parts: FollowingParts;
    readonly settings: { value: string };
    readonly live: Written;
    /** What the server has still to ask. */
    readonly asks: { toKeep: KeepingQuestion | null };
  }

  function rig(consent: string, hasConversations = true, health: Health = running): Rig {
    const settings = { value: consent };
    const requests: string[] = [];
    const asks: Rig['asks'] = { toKeep: null };
    const changes = new EventEmitter<FollowingChange>();
    const healths = new EventEmitter<Health>();
    const live = new Written();
    vi.spyOn(workspace, 'getConfiguration').mockReturnValue({
      get: (_: string, fallback: unknown) => (_ === 'followAgents' ? settings.value : fallback),
      update: (_: string, value: string) => { settings.value = value; return Promise.resolve(); },
    } as never);
    const parts: FollowingParts = {
      door: {
        health,
        onDidChangeHealth: healths.event,
        onDidFollow: changes.event,
        request: ({ name }) => {
          requests.push(name);
          return Promise.resolve({ ...(example('following.start.result.json') as object), keeping: asks.toKeep } as never);
        },
      },
      memory: memory(),
      hasConversations: () => Promise.resolve(hasConversations),
      folders: () => [PROJECT],
      live,
      failed: (error) => { throw error instanceof Error ? error : new Error(String(error)); },
    };
    return { following: new Following(parts), requests, changes, healths, parts, settings, live, asks };
  }

  test('the user is asked only where agents have conversations', async () => {
    const { following } = rig('ask', false);
    await following.begin();
    expect(window.showInformationMessage).not.toHaveBeenCalled();
    expect(following.question).toBeUndefined();
    following.dispose();
  });

  test('a message that VS Code has hidden is no answer: the question stays, and the next window asks again', async () => {
    window.showInformationMessage.mockReturnValue(new Promise(() => undefined));
    const { following, requests, parts, settings } = rig('ask');
    void following.begin();
    await vi.waitFor(() => { expect(window.showInformationMessage).toHaveBeenCalledTimes(1); }, PATIENCE);
    expect(following.question).toMatch(/^Show how full/);
    const next = new Following(parts);
    void next.begin();
    await vi.waitFor(() => { expect(window.showInformationMessage).toHaveBeenCalledTimes(2); }, PATIENCE);
    expect([settings.value, following.isAllowed, requests]).toEqual(['ask', false, []]);
    window.showInformationMessage.mockReset();
  });

  test('a message that the user closes is no answer either: the status bar and the view go on asking', async () => {
    const { following, parts, settings } = rig('ask');
    await following.begin();
    const next = new Following(parts);
    await next.begin();
    expect(window.showInformationMessage).toHaveBeenCalledTimes(1);
    expect([following.question, next.question, settings.value]).toEqual([expect.stringContaining('Show how full'), following.question, 'ask']);
  });

  test('a no is kept, and nothing asks again', async () => {
    window.showInformationMessage.mockResolvedValueOnce('No');
    const { following, parts, requests, settings } = rig('ask');
    await following.begin();
    await new Following(parts).begin();
    expect([settings.value, following.question, requests]).toEqual(['off', undefined, []]);
    expect(window.showInformationMessage).toHaveBeenCalledTimes(1);
  });

  test('a click on the status bar asks in a list that stays, and closing it is no answer', async () => {
    const { following, requests, settings } = rig('ask');
    await following.begin();
    window.showQuickPick.mockResolvedValueOnce(undefined);
    await following.ask();
    expect([settings.value, following.question === undefined]).toEqual(['ask', false]);
    expect(window.showQuickPick.mock.calls[0]?.[1]).toMatchObject({ ignoreFocusOut: true, placeHolder: following.question });
    window.showQuickPick.mockImplementationOnce(([yes]: readonly unknown[]) => Promise.resolve(yes));
    await following.ask();
    expect([settings.value, following.question, requests]).toEqual(['on', undefined, [FollowingStart.name]]);
  });

  test('the question is short', async () => {
    const { following } = rig('ask');
    await following.begin();
    expect(following.question?.split(' ').length).toBeLessThanOrEqual(15);
    expect(window.showInformationMessage.mock.calls[0]?.slice(1)).toEqual(['Follow them', 'No']);
  });

  test('a yes is kept in the setting and starts following; taking it back stops it and shows nothing more', async () => {
    window.showInformationMessage.mockResolvedValueOnce('Follow them');
    const { following, requests, settings, changes } = rig('ask');
    await following.begin();
    expect(settings.value).toBe('on');
    expect(following.shown.subject?.agent).toBe('Claude Code');
    changes.fire({ rows: [codex], gone: [claude.sessionId], desktop: false });
    expect(following.shown.rows).toEqual([codex]);
    settings.value = 'off';
    await following.configure();
    expect(requests).toEqual([FollowingStart.name, FollowingStop.name]);
    expect(following.rows).toEqual([]);
  });

  const TO_KEEP: KeepingQuestion = { conversations: 117, size: 412_000_000, path: '/archive', limit: 5_000_000_000 };

  test('keeping is asked about once there is a figure, and a message that is closed leaves the question in the tree', async () => {
    const { following, parts, requests, asks } = rig('on');
    asks.toKeep = TO_KEEP;
    await following.begin();
    await vi.waitFor(() => { expect(window.showInformationMessage).toHaveBeenCalledTimes(1); }, PATIENCE);
    expect(window.showInformationMessage.mock.calls[0]?.slice(1)).toEqual(['Keep them', 'No', 'More…']);
    const next = new Following(parts);
    await next.begin();
    expect(window.showInformationMessage).toHaveBeenCalledTimes(1);
    expect([following.asksToKeep, next.asksToKeep, requests]).toEqual([true, true, [FollowingStart.name, FollowingStart.name]]);
  });

  test.each([['Keep them', true], ['No', false]])('the tree asks with what is kept, where and how it ends; %s is an answer', async (word, keep) => {
    const { following, parts, requests, asks } = rig('on');
    const request = vi.spyOn(parts.door, 'request');
    asks.toKeep = TO_KEEP;
    await following.begin();
    await following.askToKeep();
    const { detail } = window.showInformationMessage.mock.calls.at(-1)?.[1] as { readonly detail: string };
    for (const words of ['117 now (412 MB)', '/archive', 'at most 5 GB', 'ullage.archive.enabled']) expect(detail).toContain(words);
    expect(following.asksToKeep).toBe(true);
    window.showInformationMessage.mockResolvedValueOnce(word);
    await following.askToKeep();
    expect(request).toHaveBeenLastCalledWith(FollowingKeep, { keep });
    expect([following.asksToKeep, requests.at(-1)]).toEqual([false, FollowingKeep.name]);
  });

  test('an agent’s first conversation is found while the window is open', async () => {
    vi.useFakeTimers();
    const { following, requests, parts } = rig('on', false);
    await following.begin();
    expect(requests).toEqual([]);
    Object.assign(parts, { hasConversations: () => Promise.resolve(true) });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(requests).toEqual([FollowingStart.name]);
    vi.useRealTimers();
  });

  test('what another process follows is read from its file, and no server is asked until that process has ended', async () => {
    const { following, requests, live } = rig('on', true, { kind: 'idle' });
    live.now = { writer: 1, desktop: false, rows: [claude] };
    await following.begin();
    expect(following.shown.subject).toEqual(claude);
    live.now = { writer: 1, desktop: false, rows: [codex] };
    live.changed?.();
    await vi.waitFor(() => { expect(following.rows).toEqual([codex]); }, PATIENCE);
    expect(requests).toEqual([]);
    live.now = undefined;
    live.changed?.();
    await vi.waitFor(() => { expect(requests).toEqual([FollowingStart.name]); }, PATIENCE);
    expect(live.changed).toBeUndefined();
  });

  test('a server that runs for something else follows instead of the file', async () => {
    const { following, requests, live, healths } = rig('on', true, { kind: 'idle' });
    live.now = { writer: 1, desktop: false, rows: [codex] };
    await following.begin();
    healths.fire(running);
    await vi.waitFor(() => { expect(requests).toEqual([FollowingStart.name]); }, PATIENCE);
    expect(live.changed).toBeUndefined();
  });

  test('the live file is read where the server writes it, and only while its writer runs', () => {
    expect(liveFile('linux', '/home/ada', {})).toBe('/home/ada/.local/share/ullage/sessions.db.live.json');
    expect(liveFile('darwin', '/Users/ada', {})).toBe('/Users/ada/Library/Application Support/ullage/sessions.db.live.json');
    expect(liveFile('linux', '/home/ada', { XDG_DATA_HOME: '/data' })).toBe('/data/ullage/sessions.db.live.json');
    const address = 'postgresql://ada@db.example/ullage';
    const named = '/home/ada/.local/share/ullage/postgresql___ada_db.example_ullage.live.json';
    expect(liveFile('linux', '/home/ada', {}, address)).toBe(named);
    expect(liveFile('linux', '/home/ada', { ULLAGE_STORE: address }, '/elsewhere.db')).toBe(named);
    expect(liveFile('linux', '/home/ada', {}, '~/s.db')).toBe('/home/ada/s.db.live.json');
    const row = { session_id: 's_1', agent_short: 'CC', compact_command: '/compact', nearness: 'far', calls_left: [1, 2] };
    const text = JSON.stringify({ version: 1, at: 0, follower: 7, sessions: [row] });
    expect(parse(text, () => true)).toEqual({ writer: 7, desktop: false, rows: [{ sessionId: 's_1', agentShort: 'CC', compactCommand: '/compact', nearness: 'far', callsLeft: [1, 2] }] });
    expect(parse(text.replace('"at":0', '"desktop":true'), () => true)?.desktop).toBe(true);
    expect(parse(text, () => false)).toBeUndefined();
    expect(parse(text.slice(0, -9), () => true)).toBeUndefined();
    expect(parse(text.replace('"version":1', '"version":2'), () => true)).toBeUndefined();
    expect(parse(text.replace('nearness', 'other'), () => true)).toBeUndefined();
  });

  test('an agent’s compaction is warned of once, two calls ahead, and again after there was room', async () => {
    const { following, changes } = rig('on');
    await following.begin();
    const warnings = new Warnings(following, memory(), () => false);
    const at = (used: number, callsLeft: readonly number[], nearness: Nearness): void => { changes.fire({ rows: [{ ...claude, used, percent: used / 2_000, usedSource: 'reported', callsLeft, nearness }], gone: [], desktop: false }); };
    at(140_000, [3, 9], 'near');
    expect(window.showWarningMessage).not.toHaveBeenCalled();
    at(150_000, [2, 5], 'imminent');
    at(155_000, [1, 4], 'imminent');
    at(155_000, [1, 4], 'compacting');
    at(156_000, [1, 4], 'imminent');
    expect(window.showWarningMessage.mock.calls.map(([text]) => text as string)).toEqual(['Claude Code compacts in 2 to 5 calls: 75% full, compacts at 84%.']);
    at(30_000, [40, 60], 'far');
    at(160_000, [0, 0], 'imminent');
    expect(window.showWarningMessage.mock.calls.at(-1)?.[0]).toBe('Claude Code compacts with the next call: 80% full, compacts at 84%.');
    expect(window.showWarningMessage).toHaveBeenCalledTimes(2);
    warnings.dispose();
  });

  test('a compaction because the conversation idles is announced once, some minutes before, and put off by whatever goes on', async () => {
    const { following, changes } = rig('on');
    await following.begin();
    vi.useFakeTimers();
    let quiet = false;
    const warnings = new Warnings(following, memory(), () => quiet);
    const idles = (minutes: number | null): void => { changes.fire({ rows: [{ ...claude, nearness: 'far', idle: minutes === null ? null : { at: Date.now() + minutes * 60_000, setting: '"idleCompaction": false' } }], gone: [], desktop: false }); };
    const told = (): readonly string[] => window.showInformationMessage.mock.calls.map(([text]) => text as string);
    idles(54);
    vi.advanceTimersByTime(43 * 60_000);
    expect(told()).toEqual([]);
    // The user goes on, and idles again.
    idles(null);
    idles(54);
    vi.advanceTimersByTime(43 * 60_000);
    expect(told()).toEqual([]);
    vi.advanceTimersByTime(2 * 60_000);
    expect(told()).toEqual([expect.stringMatching(/^Claude Code compacts by itself at \d\d:\d\d because it idles \("idleCompaction": false in its settings stops that\)\.$/)]);
    expect(window.showInformationMessage.mock.calls[0]?.slice(1)).toEqual(['Compact…', 'Continue in a New Session…', 'Let it']);
    vi.advanceTimersByTime(60 * 60_000);
    quiet = true;
    idles(5);
    vi.advanceTimersByTime(1_000);
    expect(told()).toHaveLength(1);
    warnings.dispose();
    vi.useRealTimers();
  });

  test('a good moment is told once, with a new session beside it, and not in a quiet window', async () => {
    const { following, changes } = rig('on');
    await following.begin();
    const moment = (at: number, live = true): void => { changes.fire({ rows: [{ ...claude, live, used: 310_000, nearness: 'far', moment: { at, work: 'fix: refunds', tokens: 14_000, cost: null } }], gone: [], desktop: false }); };
    const told = (): number => window.showInformationMessage.mock.calls.length;
    let quiet = true;
    const warnings = new Warnings(following, memory(), () => quiet);
    moment(1);
    expect(told()).toBe(0);
    quiet = false;
    window.showInformationMessage.mockResolvedValueOnce('Continue in a New Session…');
    for (const at of [2, 2]) moment(at);
    moment(3, false);
    expect(window.showInformationMessage.mock.calls.map(([text]) => text as string)).toEqual(['Claude Code: good moment: a new session begins with 14K in place of 310K: “fix: refunds” is committed and nothing is open.']);
    await vi.waitFor(() => { expect(commands.executeCommand).toHaveBeenCalledWith('ullage.continueSession', claude.sessionId); }, PATIENCE);
    moment(4);
    expect(told()).toBe(2);
    warnings.dispose();
  });

  test('what notifications of the operating system tell is told by them alone, but for a compaction that is near', async () => {
    const { following, changes } = rig('on');
    await following.begin();
    const warnings = new Warnings(following, memory(), () => false);
    const row: FollowedConversation = { ...claude, used: 310_000, nearness: 'far', warnings: ['It has passed your own limit of 300,000 tokens.'], moment: { at: 1, work: 'fix: refunds', tokens: 14_000, cost: null } };
    const told = (): number => window.showInformationMessage.mock.calls.length + window.showWarningMessage.mock.calls.length;
    changes.fire({ rows: [row], gone: [], desktop: true });
    expect(told()).toBe(0);
    changes.fire({ rows: [{ ...row, nearness: 'imminent' }], gone: [], desktop: true });
    expect(told()).toBe(1);
    changes.fire({ rows: [{ ...row, moment: { at: 2, work: 'fix: refunds', tokens: 14_000, cost: null } }], gone: [], desktop: false });
    expect(told()).toBe(2);
    warnings.dispose();
  });

  test('a warning is shown once, and in a quiet window only when two calls are left', async () => {
    const { following, changes } = rig('on');
    await following.begin();
    let quiet = true;
    const warnings = new Warnings(following, memory(), () => quiet);
    const warned = { ...claude, warnings: ['About 3 calls are left.'] };
    changes.fire({ rows: [warned], gone: [], desktop: false });
    expect(window.showInformationMessage).not.toHaveBeenCalled();
    quiet = false;
    for (let times = 0; times < 3; times += 1) changes.fire({ rows: [{ ...warned, used: times }], gone: [], desktop: false });
    expect(window.showInformationMessage).toHaveBeenCalledTimes(1);
    expect(window.showInformationMessage.mock.calls[0]?.[0]).toBe('Claude Code: About 3 calls are left.');
    warnings.dispose();
  });
});

describe('the tree', () => {
  const { rows: [claude, opencode] } = example('following.list.result.json') as { rows: [FollowedConversation, FollowedConversation] };
  const FOUND = { path: '/earlier.jsonl', run: null, agent: 'Codex', title: 'Fix the $(login)', updatedAt: Date.now() - 7_200_000 } as FoundTranscript;
  const view = { visible: true, badge: undefined as unknown, selection: [] as readonly Node[], reveal: vi.fn(), dispose: vi.fn(), onDidChangeVisibility: new EventEmitter<unknown>().event };
  const changes = new EventEmitter<readonly FollowedConversation[]>();
  const active = new EventEmitter<string | undefined>();
  let rows: readonly FollowedConversation[];
  let isOn: boolean;
  let toKeep: boolean;
  let asked: number;
  let tree: ConversationTree;

  beforeEach(() => {
    vi.clearAllMocks();
    [rows, isOn, toKeep, asked, view.badge] = [[claude, opencode], true, false, 0, undefined];
    window.createTreeView.mockReturnValue(view);
    const following = { get rows() { return rows; }, get isOn() { return isOn; }, get shown() { return choose(rows, [claude.cwd], undefined); }, get asksToKeep() { return toKeep; }, onDidChange: changes.event, onDidAsk: new EventEmitter<undefined>().event };
    tree = new ConversationTree({
      following,
      folders: () => [claude.cwd],
      find: () => {
        asked += 1;
        return Promise.resolve([FOUND, { ...FOUND, path: claude.path }]);
      },
      active: () => claude.sessionId,
      onDidChangeActive: active.event,
      shown: vi.fn(),
    });
  });
  afterEach(() => { tree.dispose(); });

  const item = (node: Node): vscode.TreeItem => tree.getTreeItem(node);

  test('the folder’s own conversations come first, others and earlier ones under a heading, and these are looked for when it is opened', async () => {
    expect(await tree.getChildren()).toEqual([claude, 'elsewhere', 'earlier']);
    expect(await tree.getChildren('elsewhere')).toEqual([opencode]);
    expect(asked).toBe(0);
    expect(await tree.getChildren('earlier')).toEqual([FOUND]);
  });

  test('the question whether conversations are kept is the first row until it is answered', async () => {
    toKeep = true;
    expect((await tree.getChildren())[0]).toBe('keeping');
    expect(item('keeping').command?.command).toBe('ullage.askToKeep');
  });

  test('nothing is looked for before the user agrees', async () => {
    [rows, isOn] = [[], false];
    expect(await tree.getChildren()).toEqual([]);
    expect(asked).toBe(0);
    isOn = true;
    expect(await tree.getChildren()).toHaveLength(2);
  });

  test('a row begins with its fill, has it as a picture, and says where it is compacted', () => {
    const row = item(claude);
    expect(row.label).toMatch(/^~46% {2}CC · /);
    expect(row.description).toBe('compacts at 84%');
    expect(row.accessibilityInformation?.label).toMatch(/^~46%, .*92K of 200K/);
    const { dark } = row.iconPath as { readonly dark: vscode.Uri };
    const drawn = (path: string): string => Buffer.from(path.split('base64,')[1] ?? '', 'base64').toString();
    expect(drawn(dark.toString(true))).toContain('<path');
    const unknown = item({ ...claude, percent: null }).iconPath as { readonly dark: vscode.Uri };
    expect(drawn(unknown.dark.toString(true))).not.toContain('<path');
  });

  test('one that does not continue says its age, and no title draws an icon', () => {
    expect(item({ ...claude, live: false, updatedAt: Date.now() - 86_400_000 }).description).toBe('1 day ago');
    expect([item(FOUND).label, item(FOUND).description]).toEqual(['Fix the \\$(login)', 'Codex · 2 hours ago']);
  });

  test('the badge counts those near their compaction, and goes when there is room again', () => {
    vi.useFakeTimers();
    const near = { ...claude, live: true, nearness: 'near' as const };
    rows = [near, opencode];
    changes.fire([near]);
    vi.advanceTimersByTime(300);
    expect(view.badge).toMatchObject({ value: 1, tooltip: expect.stringMatching(/^Claude Code compacts/) as string });
    rows = [claude, opencode];
    changes.fire([claude]);
    vi.advanceTimersByTime(300);
    expect(view.badge).toBeUndefined();
    vi.useRealTimers();
  });

  test('the conversation in the Context view is selected', async () => {
    active.fire(claude.sessionId);
    await vi.waitFor(() => { expect(view.reveal).toHaveBeenCalledWith(claude, { select: true, focus: false }); });
    expect(tree.getParent(claude)).toBeUndefined();
    expect(tree.getParent(opencode)).toBe('elsewhere');
  });
});
