/** Asks the user whether the model may make a tool call, when the server requests it. */
import * as vscode from 'vscode';

import type { PermissionKind, RequestPermissionParams, RequestPermissionResult } from './protocol.gen';

const ICONS: Readonly<Record<PermissionKind, string>> = { allow_once: 'check', allow_always: 'check-all', reject_once: 'close' };

interface Choice extends vscode.QuickPickItem {
  readonly optionId: string;
}

export class Permissions {
  #last: Promise<unknown> = Promise.resolve();

  /**
   * Returns the user's answer. Questions are asked one after another, since a second list would replace the first. A
   * list that is closed without a choice permits nothing. `token` is cancelled when the turn was stopped.
   */
  ask(params: RequestPermissionParams, token: vscode.CancellationToken): Promise<RequestPermissionResult> {
    const answer = this.#last.then(() => choose(params, token));
    this.#last = answer.catch(() => undefined);
    return answer;
  }
}

async function choose({ toolCall, options }: RequestPermissionParams, token: vscode.CancellationToken): Promise<RequestPermissionResult> {
  const rejecting = options.find(({ kind }) => kind === 'reject_once');
  // The list takes the focus while the user may be typing the next prompt, so an Enter must permit nothing.
  const ordered = [...(rejecting ? [rejecting] : []), ...options.filter((option) => option !== rejecting)];
  const choices = ordered.map(({ optionId, name, kind }): Choice => ({ optionId, label: `$(${ICONS[kind]}) ${name}` }));
  const title = `Ullage: ${toolCall.title}?`;
  const placeHolder = 'The model asks to do this. Escape rejects it.';
  const chosen = token.isCancellationRequested
    ? undefined
    : await vscode.window.showQuickPick(choices, { title, placeHolder, ignoreFocusOut: true }, token);
  if (token.isCancellationRequested) return { outcome: { outcome: 'cancelled' } };
  return { outcome: { outcome: 'selected', optionId: (chosen ?? rejecting)?.optionId ?? '' } };
}
