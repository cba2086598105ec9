/** The question that the user is asked before a tool call, and the result of the answer. */
import { afterEach, expect, test, vi } from 'vitest';
import type * as vscode from 'vscode';

import { Permissions } from '../../src/permissions';
import type { RequestPermissionParams } from '../../src/protocol.gen';
import { example } from './samples';
import { EventEmitter, window } from './vscode';

const params = example('session.request_permission.params.json') as RequestPermissionParams;
const token = { isCancellationRequested: false } as vscode.CancellationToken;
const selected = (optionId: string): object => ({ outcome: { outcome: 'selected', optionId } });
const pick = (label: string) => (choices: readonly vscode.QuickPickItem[]): Promise<vscode.QuickPickItem | undefined> =>
  Promise.resolve(choices.find((choice) => choice.label.includes(label)));

afterEach(() => { vi.clearAllMocks(); });

test.each([
  ['Allow', 'allow_once'],
  ['Always allow in this session', 'allow_always'],
  ['Reject', 'reject_once'],
])('the choice “%s” is answered with %s', async (label, optionId) => {
  window.showQuickPick.mockImplementationOnce(pick(label));
  await expect(new Permissions().ask(params, token)).resolves.toEqual(selected(optionId));
  expect(window.showQuickPick.mock.calls[0]?.[1]).toMatchObject({ title: 'Ullage: Read units.py?', ignoreFocusOut: true });
});

test('a list that is closed without a choice permits nothing', async () => {
  window.showQuickPick.mockResolvedValueOnce(undefined);
  await expect(new Permissions().ask(params, token)).resolves.toEqual(selected('reject_once'));
});

test('what an Enter meant for something else would choose permits nothing', async () => {
  window.showQuickPick.mockImplementationOnce((choices: readonly vscode.QuickPickItem[]) => Promise.resolve(choices[0]));
  await expect(new Permissions().ask(params, token)).resolves.toEqual(selected('reject_once'));
});

test('a second question waits for the first one’s answer', async () => {
  const permissions = new Permissions();
  const closed = new EventEmitter<undefined>();
  window.showQuickPick.mockReturnValueOnce(new Promise((resolve) => { closed.event(resolve); })).mockImplementationOnce(pick('Always'));
  const answers = [permissions.ask(params, token), permissions.ask(params, token)];
  await vi.waitUntil(() => window.showQuickPick.mock.calls.length > 0);
  expect(window.showQuickPick).toHaveBeenCalledTimes(1);
  closed.fire(undefined);
  await expect(Promise.all(answers)).resolves.toEqual([selected('reject_once'), selected('allow_always')]);
});

test('a question of a turn that was stopped is not asked any more', async () => {
  const stopped = { isCancellationRequested: true } as vscode.CancellationToken;
  await expect(new Permissions().ask(params, stopped)).resolves.toEqual({ outcome: { outcome: 'cancelled' } });
  expect(window.showQuickPick).not.toHaveBeenCalled();
});
