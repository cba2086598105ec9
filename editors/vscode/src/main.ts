/** Where VS Code enters. */
import type * as vscode from 'vscode';

import { registerCommands } from './commands';
import { Ullage } from './ullage';

let ullage: Ullage | undefined;

/** Returns at once: the server starts on its own time, and a failure to start takes no command away. */
export function activate(context: vscode.ExtensionContext): void {
  const own = (ullage = new Ullage(context));
  context.subscriptions.push(own, registerCommands(own));
  own.run(own.connection.restart());
}

export async function deactivate(): Promise<void> {
  await ullage?.connection.stop();
}
