/** The questions before tool calls, and their answers. */
import { expect, test, vi } from 'vitest';
import type * as vscode from 'vscode';

import { Permissions } from '../../src/permissions';
import type { RequestPermissionParams } from '../../src/protocol.gen';
import { example } from './samples';
import { EventEmitter } from './vscode';

const params = example('session.request_permission.params.json') as RequestPermissionParams;

/** A token, and what cancels it. */
function source(): { readonly token: vscode.CancellationToken; readonly cancel: () => void } {
  const cancelled = new EventEmitter<unknown>();
  const token = { isCancellationRequested: false, onCancellationRequested: cancelled.event };
  return { token, cancel: () => { cancelled.fire(undefined); } };
}

test.each(params.options.map(({ optionId }) => optionId))('the option %s is the answer', async (optionId) => {
  const permissions = new Permissions();
  const answer = permissions.ask(params, source().token);
  const [question] = permissions.waiting(params.sessionId);
  expect(question?.params.toolCall.title).toBe('Read units.py');
  permissions.answer(question?.id ?? 0, optionId);
  await expect(answer).resolves.toEqual({ outcome: { outcome: 'selected', optionId } });
  expect(permissions.waiting(params.sessionId)).toEqual([]);
});

test('what was not offered is no answer', () => {
  const permissions = new Permissions();
  void permissions.ask(params, source().token);
  const [question] = permissions.waiting(params.sessionId);
  permissions.answer(question?.id ?? 0, 'allow_everything');
  expect(permissions.waiting(params.sessionId)).toHaveLength(1);
});

test('a stopped turn and a lost server end the question without a permission', async () => {
  const permissions = new Permissions();
  const { token, cancel } = source();
  const stopped = permissions.ask(params, token);
  cancel();
  await expect(stopped).resolves.toEqual({ outcome: { outcome: 'cancelled' } });
  const lost = permissions.ask(params, source().token);
  permissions.drop();
  await expect(lost).resolves.toEqual({ outcome: { outcome: 'cancelled' } });
});

test('questions of one session are shown together, those of others are not', () => {
  const permissions = new Permissions();
  const changed = vi.fn();
  permissions.onDidChange(changed);
  void permissions.ask(params, source().token);
  void permissions.ask({ ...params, sessionId: 'another' }, source().token);
  void permissions.ask(params, source().token);
  expect(permissions.waiting(params.sessionId).map(({ id }) => id)).toEqual([1, 3]);
  expect(changed).toHaveBeenCalledTimes(3);
});
