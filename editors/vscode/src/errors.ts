/** Errors on their way to the person. */
import { CancellationError } from 'vscode';
import { ResponseError } from 'vscode-languageclient/node';

/** The server cannot be asked just now. */
export class NotConnected extends Error {}

/** The stable word for a refusal by the server; undefined for anything else. */
export function errorKind(error: unknown): string | undefined {
  if (!(error instanceof ResponseError)) return undefined;
  const data: unknown = error.data;
  if (typeof data !== 'object' || data === null || !('kind' in data)) return undefined;
  return typeof data.kind === 'string' ? data.kind : undefined;
}

/** Whether somebody took the request back. */
export function isCancelled(error: unknown): boolean {
  return error instanceof CancellationError || errorKind(error) === 'Cancelled' || (error instanceof ResponseError && error.code === -32800);
}

/** One line. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
