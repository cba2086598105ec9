/** Errors as they are shown to the user. */
import * as l10n from '@vscode/l10n';
import { CancellationError } from 'vscode';

/**
 * The codes of JSON-RPC's library for requests that were not answered, or could not even be written, because the server had
 * gone: rejected, not written, and a connection that is closed or disposed. The library is not loaded for them.
 */
const LOST: readonly number[] = [-32_097, -32_099, 1, 2];
/** The code of a request that was cancelled. */
const CANCELLED = -32_800;

/** Thrown when the server cannot be reached now. */
export class NotConnected extends Error {}

/** Returns the `kind` of a server's error, or undefined for any other error. */
export function errorKind(error: unknown): string | undefined {
  const data: unknown = codeOf(error) !== undefined && 'data' in (error as object) ? (error as { readonly data: unknown }).data : undefined;
  if (typeof data !== 'object' || data === null || !('kind' in data)) return undefined;
  return typeof data.kind === 'string' ? data.kind : undefined;
}

/** Whether the error means that the request was cancelled. */
export function isCancelled(error: unknown): boolean {
  return error instanceof CancellationError || errorKind(error) === 'Cancelled' || codeOf(error) === CANCELLED;
}

/** Whether the server ended, or was stopped, before it answered. */
export function isLost(error: unknown): boolean {
  if (error instanceof NotConnected) return true;
  const code = codeOf(error);
  return code !== undefined && LOST.includes(code);
}

/** Returns the code of an error of JSON-RPC's library. Those of Node are words. */
function codeOf(error: unknown): number | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' ? error.code : undefined;
}

/** Returns the error as one line. */
export function errorText(error: unknown): string {
  if (isLost(error) && !(error instanceof NotConnected)) return l10n.t('The server ended before it answered.');
  return error instanceof Error ? error.message : String(error);
}
