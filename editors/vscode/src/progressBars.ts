/** Progress bars that the server asks for: made, moved on and removed by its messages; Cancel is sent back. */
import * as vscode from 'vscode';
import type { MessageConnection } from 'vscode-jsonrpc/node';

import { asMessage } from './labels';

type Token = string | number;

/** A step of a bar, as LSP's `$/progress` has it. */
interface Step {
  readonly kind: 'begin' | 'report' | 'end';
  readonly title?: string;
  readonly message?: string | null;
  readonly percentage?: number | null;
}

interface Bar {
  report(step: Step): void;
  end(): void;
}

/** Draws the bars of a connection while it lasts. Returns a function that removes those that are left. */
export function drawProgress(connection: MessageConnection): () => void {
  const bars = new Map<Token, Bar>();
  connection.onRequest('window/workDoneProgress/create', () => null);
  connection.onNotification('$/progress', ({ token, value }: { readonly token: Token; readonly value: Step }) => {
    if (value.kind === 'begin') bars.set(token, begin(value, () => { void cancel(connection, token); }));
    if (value.kind === 'report') bars.get(token)?.report(value);
    if (value.kind !== 'end') return;
    bars.get(token)?.end();
    bars.delete(token);
  });
  return () => {
    for (const bar of bars.values()) bar.end();
    bars.clear();
  };
}

async function cancel(connection: MessageConnection, token: Token): Promise<void> {
  try {
    await connection.sendNotification('window/workDoneProgress/cancel', { token });
  } catch {
    // The server has gone, and the work with it.
  }
}

function begin(first: Step, cancelled: () => void): Bar {
  let shown: vscode.Progress<{ message?: string; increment?: number }> | undefined;
  let end = (): void => undefined;
  let reached = 0;
  const over = new Promise<void>((resolve) => { end = resolve; });
  const options = { location: vscode.ProgressLocation.Notification, title: asMessage(first.title ?? 'Ullage'), cancellable: true };
  void vscode.window.withProgress(options, async (progress, token) => {
    shown = progress;
    token.onCancellationRequested(cancelled);
    await over;
  });
  const report = ({ message, percentage }: Step): void => {
    const done = percentage ?? reached;
    shown?.report({ ...(message ? { message: asMessage(message) } : {}), increment: done - reached });
    reached = done;
  };
  return { report, end };
}
