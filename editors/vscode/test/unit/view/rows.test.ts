import { expect, test } from 'vitest';

import { appendRows, buildRows, groupKeyOf, idsOf, type Row } from '../../../src/view/page/rows';
import { call, item, items, marker, result } from './items';

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
