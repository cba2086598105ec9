/** The status bar and the notices, driven by updates as they come. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import type { Health } from '../../src/health';
import { Notices } from '../../src/notices';
import type { SessionNotification } from '../../src/protocol.gen';
import { Sessions } from '../../src/sessions';
import { StatusBar } from '../../src/statusBar';
import { memory } from './memory';
import { example, running } from './samples';
import { commands, EventEmitter, window } from './vscode';

const updates = new EventEmitter<SessionNotification>();
const warning = example('update.notice.context_warning.json') as SessionNotification;
const usage = example('update.usage_update.json') as SessionNotification;
let sessions: Sessions;

/** A status item that counts what is sent to the window. */
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

function withUsed(used: number): SessionNotification {
  const { update } = usage;
  if (update.sessionUpdate !== 'usage_update') throw new Error('the example is no usage update');
  return { sessionId: 's_1', update: { ...update, used } };
}

test('the status item takes a thousand updates in a second with some twenty repaints, the last one shown', () => {
  vi.useFakeTimers();
  const item = new CountingItem();
  window.createStatusBarItem.mockReturnValue(item);
  const health = new EventEmitter<Health>();
  const bar = new StatusBar({ health: running, onDidChangeHealth: health.event }, sessions);
  for (let used = 1; used <= 1_000; used += 1) {
    updates.fire(withUsed(used * 8));
    vi.advanceTimersByTime(1);
  }
  vi.advanceTimersByTime(50);
  expect(item.texts.length).toBeLessThanOrEqual(23);
  expect(item.text).toBe('● 98% · 8K/8.2K');
  bar.dispose();
});

test('a warning offers to compact, to look first, and to be silent', async () => {
  const notices = new Notices(sessions, memory());
  window.showWarningMessage.mockResolvedValueOnce('Compact now');
  updates.fire(warning);
  const text = 'Context 81% full (5K of 6.1K usable). Compacts by itself at 5.5K.';
  expect(window.showWarningMessage).toHaveBeenCalledWith(text, 'Compact now', 'Preview', 'Not for this session');
  await expect.poll(() => commands.executeCommand.mock.calls).toContainEqual(['ullage.compactContext']);
  notices.dispose();
});

test('a session that was silenced stays silent', async () => {
  const remembered = memory();
  const notices = new Notices(sessions, remembered);
  window.showWarningMessage.mockResolvedValueOnce('Not for this session');
  updates.fire(warning);
  await expect.poll(() => remembered.get('ullage.mutedSessions')).toEqual(['s_1']);
  updates.fire(warning);
  expect(window.showWarningMessage).toHaveBeenCalledTimes(1);
  notices.dispose();
});

test("the toast's Undo takes back the edit it speaks of", async () => {
  const notices = new Notices(sessions, memory());
  window.showInformationMessage.mockResolvedValueOnce('Undo');
  updates.fire(example('update.notice.compaction_complete.json') as SessionNotification);
  await expect.poll(() => commands.executeCommand.mock.calls).toContainEqual(['ullage.undoCompaction', 'e_4']);
  notices.dispose();
});

test("another session's notice is not shown", () => {
  const notices = new Notices(sessions, memory());
  updates.fire({ ...warning, sessionId: 's_2' });
  expect(window.showWarningMessage).not.toHaveBeenCalled();
  notices.dispose();
});
