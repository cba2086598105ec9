/** Replaces the `vscode` module in unit tests. */
import { createVSCodeMock } from 'jest-mock-vscode';
import { vi } from 'vitest';

const mock = createVSCodeMock(vi);

export const { Disposable, EventEmitter, Uri, MarkdownString, ThemeColor } = mock;
export const { languages, workspace } = mock;
export const StatusBarAlignment = { Left: 1, Right: 2 };
export const commands = { executeCommand: vi.fn(() => Promise.resolve()) };
export const ConfigurationTarget = { Global: 1, Workspace: 2, WorkspaceFolder: 3 };
export const window = {
  createStatusBarItem: vi.fn(),
  onDidChangeActiveTerminal: vi.fn(),
  onDidCloseTerminal: vi.fn(),
  showErrorMessage: vi.fn(),
  showInformationMessage: vi.fn(),
  showQuickPick: vi.fn(),
  showWarningMessage: vi.fn(),
};
export { CancellationTokenSource } from 'vscode-jsonrpc/node';
export class CancellationError extends Error {}

