/** Where VS Code enters. */
import * as vscode from 'vscode';

export function activate(context: vscode.ExtensionContext): void {
  const item = vscode.window.createStatusBarItem('ullage.status', vscode.StatusBarAlignment.Right, 1000);
  context.subscriptions.push(item);
}
