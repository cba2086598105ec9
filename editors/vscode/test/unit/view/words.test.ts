import { expect, test } from 'vitest';

import type { Usage } from '../../../src/view/messages';
import { biggestOf } from '../../../src/view/page/biggest';
import { keyAct } from '../../../src/view/page/keys';
import { gaugeWords, levelWord, markerWords, outcomeLine, sourceParts, undoWords } from '../../../src/view/page/words';
import { item, marker, result } from './items';

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
