/** Errors as they are shown to the user. */
import * as l10n from '@vscode/l10n';
import { CancellationError } from 'vscode';
import { ConnectionError, ErrorCodes, ResponseError } from 'vscode-jsonrpc/node';

/** The codes of requests that were not answered, or could not even be written, because the server had gone. */
const LOST: readonly number[] = [ErrorCodes.PendingResponseRejected, ErrorCodes.MessageWriteError];

/** Thrown when the server cannot be reached now. */
export class NotConnected extends Error {}

/** Returns the `kind` of a server's error, or undefined for any other error. */
export function errorKind(error: unknown): string | undefined {
  if (!(error instanceof ResponseError)) return undefined;
  const data: unknown = error.data;
  if (typeof data !== 'object' || data === null || !('kind' in data)) return undefined;
  return typeof data.kind === 'string' ? data.kind : undefined;
}

/** Whether the error means that the request was cancelled. */
export function isCancelled(error: unknown): boolean {
  return error instanceof CancellationError || errorKind(error) === 'Cancelled' || (error instanceof ResponseError && error.code === -32800);
}

/** Whether the server ended, or was stopped, before it answered. */
export function isLost(error: unknown): boolean {
  if (error instanceof NotConnected) return true;
  return error instanceof ResponseError ? LOST.includes(error.code) : error instanceof ConnectionError;
}

/** Returns the error as one line. */
export function errorText(error: unknown): string {
  if (isLost(error) && !(error instanceof NotConnected)) return l10n.t('The server ended before it answered.');
  return error instanceof Error ? error.message : String(error);
}
