/** The extension's entry point for VS Code. Sets the display language first, because modules make texts while they are loaded. */
import * as vscode from 'vscode';

import type { Api } from './extension';
import { speak } from './language';

let extension: typeof import('./extension') | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<Api> {
  speak(vscode.env.language, vscode.l10n.bundle);
  extension = await import('./extension');
  return extension.activate(context);
}

export async function deactivate(): Promise<void> {
  await extension?.deactivate();
}
