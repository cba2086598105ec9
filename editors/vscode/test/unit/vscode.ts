/** Replaces the `vscode` module in unit tests. */
import { createVSCodeMock } from 'jest-mock-vscode';
import { vi } from 'vitest';

const mock = createVSCodeMock(vi);

export const { Disposable, EventEmitter, Uri, MarkdownString, ThemeColor } = mock;
export const { languages, workspace } = mock;
export const TreeItemCollapsibleState = { None: 0, Collapsed: 1, Expanded: 2 };
export class ThemeIcon {
  constructor(readonly id: string) {}
}
export class TreeItem {
  constructor(readonly label: string, readonly collapsibleState = 0) {}
}
export const StatusBarAlignment = { Left: 1, Right: 2 };
export const commands = { executeCommand: vi.fn(() => Promise.resolve()) };
export const ProgressLocation = { Notification: 15, Window: 10 };
export const QuickPickItemKind = { Separator: -1, Default: 0 };
export const lm = { selectChatModels: vi.fn(), onDidChangeChatModels: vi.fn(() => ({ dispose: vi.fn() })), registerTool: vi.fn(() => ({ dispose: vi.fn() })) };
export class LanguageModelTextPart {
  constructor(readonly value: string) {}
}
export class LanguageModelToolResult {
  constructor(readonly content: readonly unknown[]) {}
}
export class LanguageModelError extends Error {
  constructor(message: string, readonly code: string) {
    super(message);
  }
}
export const LanguageModelChatMessage = {
  User: (content: string) => ({ role: 1, content }),
  Assistant: (content: string) => ({ role: 2, content }),
};
export const env = { appName: 'VS Code', clipboard: { writeText: vi.fn(() => Promise.resolve()) } };
/** A progress notification that nobody cancels. */
const progress = (_: unknown, work: (report: unknown, token: unknown) => unknown): unknown => work({ report: vi.fn() }, { isCancellationRequested: false });
export const ConfigurationTarget = { Global: 1, Workspace: 2, WorkspaceFolder: 3 };
export const window = {
  createQuickPick: vi.fn(),
  createStatusBarItem: vi.fn(),
  createTerminal: vi.fn(),
  createTreeView: vi.fn(),
  onDidChangeActiveTerminal: vi.fn(),
  onDidCloseTerminal: vi.fn(),
  setStatusBarMessage: vi.fn(),
  showErrorMessage: vi.fn(),
  showInformationMessage: vi.fn(),
  showQuickPick: vi.fn(),
  showTextDocument: vi.fn(() => Promise.resolve()),
  showWarningMessage: vi.fn(),
  withProgress: vi.fn(progress),
};
export { CancellationTokenSource } from 'vscode-jsonrpc/node';
export class CancellationError extends Error {}

