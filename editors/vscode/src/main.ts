/** The extension's entry point for VS Code. */
import type * as vscode from 'vscode';

import { registerCommands } from './commands';
import type { Method } from './protocol.gen';
import { Ullage } from './ullage';
import { registerContextView } from './view/contextView';

let ullage: Ullage | undefined;

/** The interface for other extensions, and for the tests. */
export interface Api {
  request<P, R>(method: Method<P, R>, params: NoInfer<P>): Promise<R>;
}

/** Returns immediately. The server starts in the background, and every command works even if that fails. */
export function activate(context: vscode.ExtensionContext): Api {
  const own = (ullage = new Ullage(context));
  const view = registerContextView(context, own.sessions, own.chat);
  context.subscriptions.push(own, registerCommands(own), view, own.pinsChanged.event(() => { view.refresh(); }));
  own.run(own.connection.restart());
  return { request: (method, params) => own.connection.request(method, params) };
}

export async function deactivate(): Promise<void> {
  await ullage?.connection.stop();
}
