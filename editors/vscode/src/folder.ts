/** The open folder. */
import * as vscode from 'vscode';

/** Returns the open folder, or an empty string without one. */
export function folder(): string {
  return vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? '';
}
