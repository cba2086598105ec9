import * as path from 'node:path';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Memento } from 'vscode';

import { forget } from '../../src/commands/sessions';
import type { Ullage } from '../../src/extension';
import {
  ContextCommit,
  ContextCompact,
  ContextUndo,
  type FollowedConversation,
  type FoundTranscript,
  type ImportResult,
  SessionImport,
  SessionList,
  SessionNew,
  type SessionNotification,
  TranscriptsList,
} from '../../src/protocol.gen';
import { type CompactionDone, type Door, findTranscripts, Sessions } from '../../src/sessions';
import { statusView } from '../../src/statusBar';
import { example, exampleNames, hasServer, memory, RealServer, repository, running } from './support';
import { EventEmitter, window } from './vscode';

test.each(exampleNames('update.'))('%s is taken in', (name) => {
  const updates = new EventEmitter<SessionNotification>();
  const remembered = memory();
  const note = example(name) as SessionNotification;
  void remembered.update('ullage.activeSession', note.sessionId);
  const sessions = new Sessions({ onDidUpdate: updates.event, request: () => Promise.reject(new Error('not asked')) }, remembered);
  const done: CompactionDone[] = [];
  sessions.onDidCompact((one) => done.push(one));
  updates.fire(note);
  const { update } = note;
  if (update.sessionUpdate === 'usage_update') expect(sessions.usage).toMatchObject({ used: update.used, size: update.size });
  if (update.sessionUpdate === 'session_info_update' && update._meta) expect(sessions.usage).toMatchObject({ used: 7, size: null });
  if (update.sessionUpdate === 'compaction_update') {
    expect(sessions.compaction !== undefined).toBe(update.status === 'in_progress');
    expect(done.length).toBe(update.status === 'completed' ? 1 : 0);
  }
  sessions.dispose();
});

test('a followed conversation has the figures of its row, which comes first, and says so when they change', () => {
  const updates = new EventEmitter<SessionNotification>();
  const changes = new EventEmitter<readonly FollowedConversation[]>();
  const { rows: [row] } = example('following.list.result.json') as { rows: [FollowedConversation] };
  let followed: FollowedConversation | undefined;
  const remembered = memory();
  void remembered.update('ullage.activeSession', row.sessionId);
  const note = example('update.usage_update.json') as SessionNotification;
  const sessions = new Sessions({ onDidUpdate: updates.event, request: () => Promise.reject(new Error('not asked')) }, remembered, undefined, { onDidChange: changes.event, row: () => followed });
  updates.fire({ ...note, sessionId: row.sessionId });
  expect(sessions.usage?.meta.followed).toBeNull();
  const told: number[] = [];
  sessions.onDidChangeUsage(({ used }) => told.push(used));
  followed = { ...row, used: 163_000, percent: 82, nearness: 'imminent' };
  changes.fire([followed]);
  expect(told).toEqual([163_000]);
  expect(sessions.usage).toMatchObject({ used: 163_000, size: row.window, meta: { compactAt: row.compactsAt, level: 'critical', source: 'stale', callsLeft: null, followed: { agent: 'Claude Code' } } });
  // Without a figure of its own, a row takes none away.
  followed = { ...row, used: null };
  expect(sessions.usage?.meta.followed).toBeNull();
  sessions.dispose();
});

describe.skipIf(!hasServer)('with a real server', () => {
  const settings = { models: { 'claude-sonnet-4-5': { window: 200_000 } } };
  let server: RealServer;
  let sessions: Sessions;
  let remembered: Memento;

  beforeEach(async () => {
    server = new RealServer();
    remembered = memory();
    await server.start(settings);
    sessions = new Sessions(server, remembered);
  });
  afterEach(async () => {
    sessions.dispose();
    await server.stop();
  });

  async function importSample(): Promise<ImportResult> {
    const done = await sessions.request(SessionImport, { path: path.join(repository, 'server/ullage/cli/data/sample.jsonl') });
    await sessions.activate(done.session);
    return done;
  }

  test('an imported conversation is shown with its figures', async () => {
    await importSample();
    expect(sessions.usage).toMatchObject({ title: 'Add token refresh to the login service', size: 200_000 });
    const view = statusView({ health: running, usage: sessions.usage, compaction: sessions.compaction, done: undefined });
    expect(view.text).toMatch(/^◔ ~?19% · 38K\/200K/);
  });

  test('a compaction is followed from its begin to its end, and undone again', async () => {
    const { session } = await importSample();
    const states: (string | undefined)[] = [];
    const ends: CompactionDone[] = [];
    sessions.onDidChangeCompaction((state) => states.push(state?.text));
    sessions.onDidCompact((done) => ends.push(done));
    const result = await sessions.request(ContextCompact, { sessionId: session.sessionId });
    await expect.poll(() => ends).toEqual([
      { sessionId: session.sessionId, before: result.contextSizeBefore, after: result.contextSizeAfter },
    ]);
    expect(states[0]).toBe('');
    expect(states.at(-2)).toBe(result.summary);
    expect(states.at(-1)).toBeUndefined();
    await sessions.refreshEdits(session.sessionId);
    expect(sessions.lastEdit?.id).toBe(result.editId);
    await sessions.request(ContextUndo, { sessionId: session.sessionId });
    await sessions.refreshEdits(session.sessionId);
    expect(sessions.lastEdit).toBeUndefined();
    await expect.poll(() => sessions.usage?.used).toBe(result.contextSizeBefore);
  });

  test('a summary that was edited to more than it replaces is refused in words, and the preview stays good', async () => {
    const { sessionId } = (await importSample()).session;
    const { previewId } = await sessions.request(ContextCompact, { sessionId, dryRun: true });
    if (!previewId) throw new Error('a preview has an id');
    const grown = sessions.request(ContextCommit, { sessionId, previewId, summary: 'more words '.repeat(20_000) });
    await expect(grown).rejects.toThrow(/the edited summary counts [\d,]+ tokens more than what it replaces; shorten it/);
    const done = await sessions.request(ContextCommit, { sessionId, previewId, summary: 'In short.' });
    expect(done.summary).toBe('In short.');
  });

  test("another session's figures are kept but not shown", async () => {
    const { session } = await importSample();
    const shown: string[] = [];
    const other = await sessions.request(SessionNew, { title: 'other', model: 'gpt-4o' });
    sessions.onDidChangeUsage((usage) => shown.push(usage.sessionId));
    await sessions.request(SessionImport, { text: '[{"role":"user","content":"Hello"}]' });
    expect(sessions.activeSessionId).toBe(session.sessionId);
    expect(shown).not.toContain(other.sessionId);
  });

  test('after a crash the session is there again, as it was', async () => {
    await importSample();
    const before = sessions.usage;
    await server.kill();
    await server.start(settings);
    await sessions.reload();
    expect(sessions.usage).toMatchObject({ sessionId: before?.sessionId, used: before?.used, title: before?.title });
  });

  test('a conversation is forgotten after one question, which says what goes and that the agent’s own file stays', async () => {
    const { session: { sessionId } } = await importSample();
    const dropped: string[] = [];
    const row = example('following.list.result.json') as { rows: [FollowedConversation] };
    const ullage = { sessions, subjectId: sessionId, following: { row: (): unknown => followed, drop: (id: string) => dropped.push(id) } } as unknown as Ullage;
    let followed: FollowedConversation | undefined = { ...row.rows[0], sessionId, title: 'fix-login', path: '/home/ada/x.jsonl' };
    const question = window.showWarningMessage.mockReset();
    const asked = (): string => (question.mock.lastCall?.[1] as { detail: string }).detail;
    question.mockResolvedValueOnce(undefined);
    await forget(ullage);
    expect(question.mock.lastCall?.[0]).toBe('Forget “fix-login”?');
    expect(asked()).toMatch(/^Ullage removes all that it keeps of it: \d+ messages, .* This cannot be undone\.\n\nClaude Code’s own file stays: .home.ada.x\.jsonl\. If Claude Code goes on with it, Ullage reads all of it again, from message 1\.$/);
    expect(sessions.activeSessionId).toBe(sessionId);
    followed = undefined;
    question.mockResolvedValueOnce('Forget');
    await forget(ullage, sessionId);
    expect(asked()).not.toContain('own file stays');
    expect(sessions.activeSessionId).toBeUndefined();
    expect(dropped).toEqual([sessionId]);
    expect((await sessions.request(SessionList, {})).sessions.map((one) => one.sessionId)).not.toContain(sessionId);
    await sessions.reload();
    expect(sessions.activeSessionId).toBeUndefined();
  });

  test('a remembered session that is gone is forgotten', async () => {
    await remembered.update('ullage.activeSession', 's_gone');
    const later = new Sessions(server, remembered);
    expect(later.activeSessionId).toBe('s_gone');
    await later.reload();
    expect(later.activeSessionId).toBeUndefined();
    expect(remembered.get('ullage.activeSession')).toBeUndefined();
    later.dispose();
  });
});

describe('conversations that agents keep', () => {
  const FOUND: FoundTranscript = {
    path: '/home/ada/.agent/a.jsonl', run: null, agent: 'Other', format: 'other', originId: '1', title: 'Why is **Tuesday**\nwrong?', cwd: '/home/ada/weather',
    here: true, model: 'm', updatedAt: 300, bytes: 10, sessionId: null, used: null, window: null, percent: null,
  };

  /** A server on whose machine these conversations lie. `asked` are the calls. */
  function machine(...transcripts: readonly FoundTranscript[]): { door: Pick<Door, 'request'>; asked: unknown[] } {
    const asked: unknown[] = [];
    const request = (method: { name: string }, params: unknown): Promise<unknown> => {
      asked.push([method.name, params]);
      return Promise.resolve({ transcripts, unread: [] });
    };
    return { door: { request: request as Door['request'] }, asked };
  }

  test('the server finds the conversations, the open folder’s first', async () => {
    const { door, asked } = machine(FOUND, { ...FOUND, run: 2, here: false });
    const found = await findTranscripts(door, '/home/ada/weather', 8);
    expect(asked).toEqual([[TranscriptsList.name, { cwd: '/home/ada/weather', limit: 8 }]]);
    expect(found.map(({ run, here }) => [run, here])).toEqual([[null, true], [2, false]]);
  });

  test('a title is plain text on one line, and a conversation without one has the name of its file', async () => {
    const { door } = machine(FOUND, { ...FOUND, title: '' });
    expect((await findTranscripts(door, '', 8)).map(({ title }) => title)).toEqual(['Why is Tuesday wrong?', 'a.jsonl']);
  });
});
