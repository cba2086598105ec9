import { expect, test } from 'vitest';

import { PAGE_SIZE, Transcript } from '../../../src/view/page/transcript';
import { item, items } from './items';

function load(all: ReturnType<typeof items>): Transcript {
  const transcript = new Transcript(1, all.length);
  for (let page = transcript.nextPage(); page; page = transcript.nextPage()) transcript.add(page.offset, all.slice(page.offset, page.offset + page.limit), all.length);
  return transcript;
}

test('pages are asked for from the end backwards until all is loaded', () => {
  const transcript = new Transcript(1, 450);
  expect(transcript.nextPage()).toEqual({ offset: 450 - PAGE_SIZE, limit: PAGE_SIZE });
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
