/** Stands for the `vscode` module in unit tests. */
import { createVSCodeMock } from 'jest-mock-vscode';
import { vi } from 'vitest';

const mock = createVSCodeMock(vi);

export const { CancellationError, CancellationTokenSource, Disposable, EventEmitter, Uri, MarkdownString, ThemeColor } = mock;
export const { StatusBarAlignment, window, workspace, commands, languages } = mock;
export default mock;
