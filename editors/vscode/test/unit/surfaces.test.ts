/** The status bar and the notices, driven by updates in the order of the wire. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { guarded } from '../../src/commands/guard';
import type { Ullage } from '../../src/extension';
import type { Health } from '../../src/health';
import { Notices } from '../../src/notices';
import type { FollowedConversation, SessionNotification } from '../../src/protocol.gen';
import { Sessions } from '../../src/sessions';
import { LINKED_COMMANDS, StatusBar } from '../../src/statusBar';
import { example, memory, PATIENCE, running } from './support';
import { commands, EventEmitter, window } from './vscode';

const updates = new EventEmitter<SessionNotification>();
const warning = example('update.notice.context_warning.json') as SessionNotification;
const usage = example('update.usage_update.json') as SessionNotification;
let sessions: Sessions;
/** No agent has a conversation here. */
const nothingFollowed = { shown: { rows: [], subject: undefined, terminal: undefined }, isOn: false, isAllowed: true, row: () => undefined, question: undefined, onDidChange: new EventEmitter<readonly FollowedConversation[]>().event, onDidAsk: new EventEmitter<void>().event };

/** A status item that counts the assignments that are sent to the window. */
class CountingItem {
  readonly texts: string[] = [];
  name = '';
  command = '';
  tooltip: unknown;
  backgroundColor: unknown;
  color: unknown;
  accessibilityInformation: unknown;
  readonly show = vi.fn();
  readonly dispose = vi.fn();
  get text(): string {
    return this.texts.at(-1) ?? '';
  }
  set text(text: string) {
    this.texts.push(text);
  }
}

beforeEach(() => {
  const remembered = memory();
  void remembered.update('ullage.activeSession', 's_1');
  sessions = new Sessions({ onDidUpdate: updates.event, request: () => Promise.reject(new Error('not asked')) }, remembered);
});
afterEach(() => {
  sessions.dispose();
  vi.useRealTimers();
  vi.clearAllMocks();
});

function withUsed(used: number, compactions = 0): SessionNotification {
  const { update } = usage;
  if (update.sessionUpdate !== 'usage_update' || !update._meta) throw new Error('the example is no usage update');
  return { sessionId: 's_1', update: { ...update, used, _meta: { ullage: { ...update._meta.ullage, compactions } } } };
}

test('the status item takes a thousand updates in a second with some twenty repaints, the last one shown', () => {
  vi.useFakeTimers();
  const item = new CountingItem();
  window.createStatusBarItem.mockReturnValue(item);
  const health = new EventEmitter<Health>();
  const bar = new StatusBar({ health: running, onDidChangeHealth: health.event }, sessions, nothingFollowed);
  for (let used = 1; used <= 1_000; used += 1) {
    updates.fire(withUsed(used * 8));
    vi.advanceTimersByTime(1);
  }
  vi.advanceTimersByTime(50);
  expect(item.texts.length).toBeLessThanOrEqual(23);
  expect(item.text).toBe('● 98% · 8K/8.2K');
  bar.dispose();
});

test('a question without an answer is in the status bar until it is answered, and a click asks it', () => {
  vi.useFakeTimers();
  const item = new CountingItem();
  window.createStatusBarItem.mockReturnValue(item);
  const asked = new EventEmitter<void>();
  const following: { question: string | undefined } & Omit<typeof nothingFollowed, 'question'> = { ...nothingFollowed, question: undefined, onDidAsk: asked.event };
  const bar = new StatusBar({ health: { kind: 'idle' }, onDidChangeHealth: new EventEmitter<Health>().event }, sessions, following);
  following.question = 'Show how full they are?';
  asked.fire();
  vi.advanceTimersByTime(50);
  expect([item.text, item.command]).toEqual(['Ullage: follow agents?', 'ullage.showAgents']);
  expect(item.tooltip).toMatchObject({ value: 'Show how full they are? Press to answer.' });
  following.question = undefined;
  asked.fire();
  vi.advanceTimersByTime(50);
  expect(item.text).toBe('Ullage');
  bar.dispose();
});

test('what a compaction did leaves the status bar when it is undone', () => {
  vi.useFakeTimers();
  const item = new CountingItem();
  window.createStatusBarItem.mockReturnValue(item);
  const bar = new StatusBar({ health: running, onDidChangeHealth: new EventEmitter<Health>().event }, sessions, nothingFollowed);
  updates.fire({ ...(example('update.compaction_update.completed.json') as SessionNotification), sessionId: 's_1' });
  updates.fire(withUsed(300, 1));
  vi.advanceTimersByTime(100);
  expect(item.text).toMatch(/^✓ /);
  updates.fire(withUsed(7_000));
  vi.advanceTimersByTime(100);
  expect(item.text).toBe('◕ 85% · 7K/8.2K');
  bar.dispose();
});

test('the hover draws no icon that a title names, and runs no command but its own', () => {
  vi.useFakeTimers();
  const item = new CountingItem();
  window.createStatusBarItem.mockReturnValue(item);
  const bar = new StatusBar({ health: running, onDidChangeHealth: new EventEmitter<Health>().event }, sessions, nothingFollowed);
  updates.fire(withUsed(7_000));
  vi.advanceTimersByTime(100);
  expect(item.tooltip).toMatchObject({ supportThemeIcons: false, isTrusted: { enabledCommands: LINKED_COMMANDS } });
  bar.dispose();
});

/** What VS Code takes for a link in a message; a click runs its command (`linkedText.ts` in VS Code). */
const LINK = /\[([^\]]+)\]\(((?:https?:\/\/|command:|file:)[^)\s]+)(?: (["'])(.+?)(\3))?\)/i;
const HOSTILE = '[Fix it](command:workbench.action.terminal.sendSequence?%7B%22text%22%3A%22id%22%7D) [a](https://example.org "b") [c](file:///d)';

test('no message has a link that runs a command, whoever wrote the text', async () => {
  vi.useFakeTimers();
  const notices = new Notices(sessions, memory());
  expect(HOSTILE).toMatch(LINK);
  notices.announce('s_1', HOSTILE);
  await vi.runAllTimersAsync();
  const failing = guarded({ log: { error: vi.fn() } } as unknown as Ullage, () => Promise.reject(new Error(HOSTILE)));
  await failing();
  const said = [...window.showInformationMessage.mock.calls, ...window.showErrorMessage.mock.calls].map(([text]) => String(text));
  expect(said).toHaveLength(2);
  for (const text of said) {
    expect(text).not.toMatch(LINK);
    expect(text.replaceAll('\u2060', '')).toBe(HOSTILE);
  }
  notices.dispose();
});

const WARNING = 'Context 61% full (5K of 8.2K). Compacts by itself at 67% (5.5K).';
const CHOICES = ['Compact now', 'Preview', 'Not for this conversation'];

test('a warning offers to compact, to look first, and to be silent', async () => {
  vi.useFakeTimers();
  const notices = new Notices(sessions, memory());
  window.showWarningMessage.mockResolvedValueOnce('Compact now');
  updates.fire(warning);
  await vi.runAllTimersAsync();
  expect(window.showWarningMessage).toHaveBeenCalledWith(WARNING, ...CHOICES);
  vi.useRealTimers();
  await expect.poll(() => commands.executeCommand.mock.calls).toContainEqual(['ullage.compactContext']);
  notices.dispose();
});

test('a warning about a copy does not offer to compact it, since that would not help the agent', async () => {
  vi.useFakeTimers();
  const notices = new Notices(sessions, memory());
  const { update } = withUsed(7_000);
  if (update.sessionUpdate !== 'usage_update' || !update._meta) throw new Error('no usage');
  updates.fire({ sessionId: 's_1', update: { ...update, _meta: { ullage: { ...update._meta.ullage, managedBy: 'agent', agent: 'Codex' } } } });
  updates.fire(warning);
  await vi.runAllTimersAsync();
  expect(window.showWarningMessage).toHaveBeenCalledWith(WARNING, 'Show', 'Preview', 'Not for this conversation');
  notices.dispose();
});

test('an import and the warning it causes are one toast', async () => {
  vi.useFakeTimers();
  const notices = new Notices(sessions, memory());
  notices.announce('s_1', 'Imported 203 messages (ullage).');
  updates.fire(warning);
  await vi.runAllTimersAsync();
  expect(window.showWarningMessage).toHaveBeenCalledWith(`Imported 203 messages (ullage). ${WARNING}`, ...CHOICES);
  expect(window.showInformationMessage).not.toHaveBeenCalled();
  notices.dispose();
});

test('a warning that a compaction follows is not shown; the import is shown with the compaction', async () => {
  vi.useFakeTimers();
  const notices = new Notices(sessions, memory());
  notices.announce('s_1', 'Imported 203 messages (ullage).');
  for (const kind of ['context_warning', 'auto_compacting', 'compaction_complete'])
    updates.fire(example(`update.notice.${kind}.json`) as SessionNotification);
  await vi.runAllTimersAsync();
  expect(window.showWarningMessage).not.toHaveBeenCalled();
  expect(window.showInformationMessage).toHaveBeenCalledTimes(1);
  expect(window.showInformationMessage).toHaveBeenCalledWith(expect.stringMatching(/^Imported 203 .* Compacted /), 'Show', 'Undo');
  notices.dispose();
});

test('an import without a warning is shown by itself', async () => {
  vi.useFakeTimers();
  const notices = new Notices(sessions, memory());
  notices.announce('s_1', 'Imported 2 messages (ullage).');
  await vi.runAllTimersAsync();
  expect(window.showInformationMessage).toHaveBeenCalledWith('Imported 2 messages (ullage).', 'Show');
  notices.dispose();
});

test('a session that was silenced stays silent', async () => {
  vi.useFakeTimers();
  const remembered = memory();
  const notices = new Notices(sessions, remembered);
  window.showWarningMessage.mockResolvedValueOnce('Not for this conversation');
  updates.fire(warning);
  await vi.runAllTimersAsync();
  expect(remembered.get('ullage.mutedSessions')).toEqual(['s_1']);
  updates.fire(warning);
  await vi.runAllTimersAsync();
  expect(window.showWarningMessage).toHaveBeenCalledTimes(1);
  notices.dispose();
});

test('with the Context view open, which tells of it, a compaction has no message, and a failure has one', () => {
  const notices = new Notices(sessions, memory(), () => true);
  updates.fire(example('update.notice.compaction_complete.json') as SessionNotification);
  expect(window.showInformationMessage).not.toHaveBeenCalled();
  updates.fire({ ...(example('update.notice.offline_summary_used.json') as SessionNotification), sessionId: 's_1' });
  expect(window.showWarningMessage).toHaveBeenCalledTimes(1);
  notices.dispose();
});

test("the toast's Undo takes back the edit it speaks of", async () => {
  const notices = new Notices(sessions, memory());
  window.showInformationMessage.mockResolvedValueOnce('Undo');
  const complete = example('update.notice.compaction_complete.json') as SessionNotification;
  updates.fire(complete);
  const editId = complete.update.sessionUpdate === 'notice' && complete.update._meta?.ullage.editId;
  expect(editId).toMatch(/^e_/);
  await expect.poll(() => commands.executeCommand.mock.calls).toContainEqual(['ullage.undoCompaction', editId]);
  notices.dispose();
});

test('a compaction that is told elsewhere has no notice meanwhile', async () => {
  const notices = new Notices(sessions, memory());
  const complete = example('update.notice.compaction_complete.json') as SessionNotification;
  await expect(notices.telling('s_1', () => { updates.fire(complete); return Promise.reject(new Error('failed later')); })).rejects.toThrow('failed later');
  expect(window.showInformationMessage).not.toHaveBeenCalled();
  updates.fire(complete);
  expect(window.showInformationMessage).toHaveBeenCalledTimes(1);
  notices.dispose();
});

test('if the user wants to confirm compactions, the notice asks', async () => {
  const notices = new Notices(sessions, memory());
  window.showWarningMessage.mockResolvedValueOnce('Compact now');
  updates.fire(example('update.notice.compaction_due.json') as SessionNotification);
  await expect.poll(() => commands.executeCommand.mock.calls).toContainEqual(['ullage.compactContext']);
  expect(window.showWarningMessage.mock.calls[0]?.slice(1)).toEqual(['Compact now', 'Preview', 'Not now']);
  notices.dispose();
});

test('“Not now” does nothing', async () => {
  const notices = new Notices(sessions, memory());
  window.showWarningMessage.mockResolvedValueOnce('Not now');
  updates.fire(example('update.notice.compaction_due.json') as SessionNotification);
  await vi.waitUntil(() => window.showWarningMessage.mock.calls.length > 0, PATIENCE);
  await Promise.resolve();
  expect(commands.executeCommand).not.toHaveBeenCalled();
  notices.dispose();
});

test('an offline summary in place of the model’s can be looked at and taken back', async () => {
  const notices = new Notices(sessions, memory());
  window.showWarningMessage.mockResolvedValueOnce('Undo');
  const used = example('update.notice.offline_summary_used.json') as SessionNotification;
  updates.fire({ ...used, sessionId: 's_1' });
  await expect.poll(() => commands.executeCommand.mock.calls).toContainEqual(['ullage.undoCompaction', 'e_15']);
  expect(window.showWarningMessage.mock.calls[0]?.slice(1)).toEqual(['Show', 'Undo']);
  notices.dispose();
});

test("another session's notice is not shown", () => {
  const notices = new Notices(sessions, memory());
  updates.fire({ ...warning, sessionId: 's_2' });
  expect(window.showWarningMessage).not.toHaveBeenCalled();
  notices.dispose();
});
