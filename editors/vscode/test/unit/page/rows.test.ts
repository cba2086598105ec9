/**
 * What the page makes of entries and figures before it draws them.
 *
 * @vitest-environment happy-dom
 */
import { describe, expect, test } from 'vitest';

import type { Usage } from '../../../src/view/messages';
import { keyAct } from '../../../src/view/page/conversation';
import { biggestOf } from '../../../src/view/page/gauge';
import { appendRows, buildRows, FIRST_PAGE, groupKeyOf, idsOf, type Row, Transcript } from '../../../src/view/page/transcript';
import { gaugeWords, levelWord, markerWords, outcomeLine, sourceParts, undoWords } from '../../../src/view/page/words';
import { call, item, items, marker, result } from '../viewSupport';

describe('words', () => {
  const usage: Usage = {
    used: 124_000,
    size: 300_000,
    usable: 280_000,
    warnAt: 224_000,
    compactAt: 252_000,
    level: 'normal',
    source: 'reported',
    breakdown: {},
    model: 'claude-sonnet-4-5',
    messagesActive: 3,
    messagesArchived: 0,
    reportedAt: 0,
    asOf: 0,
    agent: '',
    managedBy: 'ullage',
    followed: false,
    basis: [],
    pendingMessages: 3,
    errorShare: 0.04,
  };

  test('a copy says of whose conversation it is one', () => {
    const copy: Usage = { ...usage, managedBy: 'agent', agent: 'Claude Code' };
    expect(sourceParts(copy).words).toBe('a copy of Claude Code’s conversation, reported');
  });

  test('the gauge says what is used, of how much, and where compaction comes', () => {
    expect(gaugeWords(usage)).toBe('124K of 300K, compacts at 84%');
    expect(gaugeWords({ ...usage, size: null })).toBe('124K tokens, limit unknown');
  });

  test('a figure says how it is known', () => {
    expect(sourceParts(usage)).toMatchObject({ words: 'reported', at: 0 });
    expect(sourceParts(usage).aged('2 hours ago')).toBe('reported 2 hours ago');
    expect(sourceParts({ ...usage, reportedAt: null })).toMatchObject({ words: 'reported', at: null });
    expect(sourceParts({ ...usage, source: 'stale' }).words).toBe('reported, and 3 messages counted since');
    expect(sourceParts({ ...usage, source: 'estimated' }).words).toBe('estimated, ±4%');
    expect(sourceParts({ ...usage, source: 'estimated' }).aged('just now')).toBe('estimated, ±4%, as of just now');
  });

  test('a level has a word in addition to its colour', () => {
    expect([levelWord(usage), levelWord({ ...usage, level: 'warning' }), levelWord({ ...usage, level: 'critical' })]).toEqual(['', 'Nearly full', 'Due for compaction']);
  });

  test('undo says first what it brings back', () => {
    expect(undoWords(marker, usage)).toBe('Brings back 44 messages, 122K tokens; the context will be at 82%.');
    expect(undoWords(marker, { ...usage, used: 172_000 })).toMatch(/at 98%\. That is beyond the mark/);
    // A copy is never compacted by itself.
    expect(undoWords(marker, { ...usage, used: 172_000, managedBy: 'agent' })).toMatch(/at 98%\.$/);
    expect(undoWords(marker, undefined)).toBe('Brings back 44 messages, 122K tokens.');
  });

  test('a marker says the sizes that are known, and none of those that another program does not tell', () => {
    expect(markerWords(marker)).toEqual(['150K → 28K', 'automatic']);
    expect(markerWords({ ...marker, before: 167_094, after: 0 })).toEqual(['from 167K', 'automatic']);
    expect(markerWords({ ...marker, before: 0, after: 0, trigger: '' })).toEqual([]);
  });

  test('a failed command shows the line about the failure', () => {
    expect(outcomeLine('collected 3\nE  assert 1\n1 failed in 2s\nbye', true)).toBe('1 failed in 2s');
    expect(outcomeLine('\n  first\nsecond', false)).toBe('first');
  });

  test('a part’s biggest messages come first, without those archived', () => {
    const all = [item('m1', { tokens: 5 }), item('m2', { tokens: 50 }), item('m3', { archived: true }), item('m4', { parts: [result('a')], tokens: 99 }), item('m5', { role: 'system' })];
    expect(biggestOf('messages', all).map((big) => big.id)).toEqual(['m2', 'm1']);
    expect(biggestOf('messages', all).map((big) => big.number)).toEqual(['#3', '#2']);
    expect(biggestOf('tool_results', all).map((big) => big.id)).toEqual(['m4']);
    expect(biggestOf('system_prompt', all).map((big) => big.id)).toEqual(['m5']);
  });

  test('keys move, open and pin, and leave what belongs to others', () => {
    const press = (key: string, ctrlKey = false) => keyAct({ key, ctrlKey, metaKey: false, altKey: false }, 7);
    expect(press('PageUp')).toEqual({ act: 'move', by: -7 });
    expect(press('p')).toEqual({ act: 'pin' });
    expect(press('p', true)).toBeUndefined();
    expect(press('Tab')).toBeUndefined();
  });
});

describe('rows', () => {
  const kinds = (rows: readonly Row[]): string[] => rows.map((row) => `${row.kind} ${row.key}`);

  test('each message is a row', () => {
    expect(kinds(buildRows(items(2), 0, new Set()))).toEqual(['message m0', 'message m1']);
  });

  test('a tool’s results join the row of their call', () => {
    const [row, ...rest] = buildRows([item('m1', { role: 'assistant', parts: [call('a'), call('b')] }), item('m2', { parts: [result('b'), result('a')] })], 0, new Set());
    expect(rest).toEqual([]);
    expect(row && idsOf(row)).toEqual(['m1', 'm2']);
    expect(row).toMatchObject({ tokens: 20, itemized: false, toolsOnly: true });
  });

  test('results with text of the user next to them stay a row', () => {
    const spoken = item('m2', { parts: [result('a'), { kind: 'text', text: 'and then', more: false }] });
    expect(buildRows([item('m1', { parts: [call('a')] }), spoken], 0, new Set())).toHaveLength(2);
  });

  test('a message with words and calls has figures of its own and for each result', () => {
    const said = item('m1', { parts: [{ kind: 'text', text: 'so', more: false }, call('a')], tokens: 812 });
    expect(buildRows([said, item('m2', { parts: [result('a')], tokens: 23 })], 0, new Set())[0]).toMatchObject({ tokens: 812, itemized: true });
  });

  test('archived messages that stand together are one row, which opens in place', () => {
    const all = [item('m0'), ...items(3, { archived: true }).map((each) => ({ ...each, id: `a${each.id}` })), item('e1-marker', { marker }), item('m9')];
    const closed = buildRows(all, 0, new Set());
    expect(kinds(closed)).toEqual(['message m0', 'group group am0', 'marker e1-marker', 'message m9']);
    const opened = buildRows(all, 0, new Set(['group am0']));
    expect(kinds(opened)).toEqual(['message m0', 'group group am0', 'message am0', 'message am1', 'message am2', 'marker e1-marker', 'message m9']);
    expect(groupKeyOf(all, 3)).toBe('group am0');
    expect(groupKeyOf(all, 0)).toBeUndefined();
  });

  test('what is not loaded yet is one row at the top', () => {
    expect(buildRows(items(1), 300, new Set())[0]).toEqual({ kind: 'earlier', key: 'earlier', count: 300 });
  });

  test.each([1, 2, 5])('appending %i at a time gives the rows of building at once', (step) => {
    const all = [item('m0'), item('m1', { parts: [call('a'), call('b')] }), item('m2', { parts: [result('a')] }), item('m3', { parts: [result('b')] }), item('m4')];
    let rows: Row[] = [];
    for (let i = 0; i < all.length; i += step) {
      const appended = appendRows(rows, all.slice(i, i + step));
      if (!appended) throw new Error('was to be appended');
      rows = [...rows.slice(0, appended.from), ...appended.rows];
    }
    expect(rows).toEqual(buildRows(all, 0, new Set()));
  });

  test('an archived entry among the appended asks for building anew', () => {
    expect(appendRows([], [item('m1', { archived: true })])).toBeUndefined();
  });
});

describe('the transcript', () => {
  function load(all: ReturnType<typeof items>): Transcript {
    const transcript = new Transcript(1, all.length);
    for (let page = transcript.nextPage(); page; page = transcript.nextPage()) transcript.add(page.offset, all.slice(page.offset, page.offset + page.limit), all.length);
    return transcript;
  }

  test('pages are asked for from the end backwards until all is loaded', () => {
    const transcript = new Transcript(1, 450);
    expect(transcript.nextPage()).toEqual({ offset: 450 - FIRST_PAGE, limit: FIRST_PAGE });
    expect(load(items(450)).items.map((each) => each.id)).toEqual(items(450).map((each) => each.id));
    expect(load(items(450)).loaded).toBe(true);
  });

  test('an appended message changes the last rows only', () => {
    const transcript = load(items(450));
    expect(transcript.add(450, [item('m450')], 451)).toBe(449);
    expect(transcript.rows).toHaveLength(451);
  });

  test('what comes twice is taken once, and what does not join is not taken', () => {
    const transcript = load(items(10));
    transcript.add(10, [item('m10')], 11);
    transcript.add(10, [item('m10'), item('m11')], 12);
    expect(transcript.items.map((each) => each.id)).toEqual(items(12).map((each) => each.id));
    expect(transcript.add(20, [item('m20')], 21)).toBeUndefined();
  });

  test('revealing an archived message opens its group', () => {
    const transcript = load([item('m0'), ...items(3, { archived: true }).map((each) => ({ ...each, id: `a${each.id}` }))]);
    expect(transcript.rows).toHaveLength(2);
    const row = transcript.reveal('am2');
    expect(transcript.rows[row]?.key).toBe('am2');
    expect(transcript.reveal('nobody')).toBe(-1);
  });

  test('pins are taken over', () => {
    const transcript = load(items(3));
    expect(transcript.pin(new Set(['m1']))).toBe(true);
    expect(transcript.items.map((each) => each.pinned)).toEqual([false, true, false]);
    expect(transcript.pin(new Set(['m1']))).toBe(false);
  });
});
