/** Stands for the `vscode` module in unit tests. */
import { createVSCodeMock } from 'jest-mock-vscode';
import { vi } from 'vitest';

const mock = createVSCodeMock(vi);

export const { Disposable, EventEmitter, Uri, MarkdownString, ThemeColor } = mock;
export const { StatusBarAlignment, window, workspace, commands, languages } = mock;
export class CancellationError extends Error {}

