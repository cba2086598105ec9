/** Replaces the `vscode` module in unit tests. */
import { createVSCodeMock } from 'jest-mock-vscode';
import { vi } from 'vitest';

const mock = createVSCodeMock(vi);

export const { Disposable, EventEmitter, Uri, MarkdownString, ThemeColor } = mock;
export const { languages, workspace } = mock;
export const StatusBarAlignment = { Left: 1, Right: 2 };
export const commands = { executeCommand: vi.fn(() => Promise.resolve()) };
export const window = {
  createStatusBarItem: vi.fn(),
  showErrorMessage: vi.fn(),
  showInformationMessage: vi.fn(),
  showQuickPick: vi.fn(),
  showWarningMessage: vi.fn(),
};
export class CancellationTokenSource {
  readonly token = undefined;
  cancel(): void { /* unit tests make requests without tokens */ }
  dispose(): void { /* holds nothing */ }
}
export class CancellationError extends Error {}

