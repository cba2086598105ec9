import { expect, test } from 'vitest';

import { isHostMessage, isPageMessage } from '../../../src/view/messages';
import { item, marker } from './items';

test('messages of the page are known by their type and fields', () => {
  expect(isPageMessage({ type: 'ready' })).toBe(true);
  expect(isPageMessage({ type: 'load', generation: 1, offset: 0, limit: 200 })).toBe(true);
  expect(isPageMessage({ type: 'command', name: 'compact' })).toBe(true);
});

test.each([undefined, null, 'ready', [], {}, { type: 'nothing' }, { type: 'toString' }, { type: 'load', generation: 1, offset: -1, limit: 1 }, { type: 'load', generation: 1 }, { type: 'pin', id: 1, pinned: true }, { type: 'command', name: 'workbench.action.quit' }])(
  'what the page never says is refused: %j',
  (message) => {
    expect(isPageMessage(message)).toBe(false);
  },
);

test('entries are checked down to their parts', () => {
  const entries = (one: unknown) => ({ type: 'entries', generation: 1, offset: 0, total: 1, items: [one] });
  expect(isHostMessage(entries(item('m1', { marker })))).toBe(true);
  expect(isHostMessage(entries({ ...item('m1'), parts: [{ kind: 'text' }] }))).toBe(false);
  expect(isHostMessage(entries({ ...item('m1'), role: 'robot' }))).toBe(false);
});
