/** Errors as they are shown to the user. */
import { CancellationError } from 'vscode';
import { ResponseError } from 'vscode-languageclient/node';

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

/** Returns the error as one line. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
