/** Where VS Code enters. */
import type * as vscode from 'vscode';

import { registerCommands } from './commands';
import type { Method } from './protocol.gen';
import { Ullage } from './ullage';
import { registerContextView } from './view/contextView';

let ullage: Ullage | undefined;

/** What other extensions, and our own tests, may use. */
export interface Api {
  request<P, R>(method: Method<P, R>, params: NoInfer<P>): Promise<R>;
}

/** Returns at once: the server starts on its own time, and a failure to start takes no command away. */
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
