/** The server's state as a value. */
import * as l10n from '@vscode/l10n';

export type Health =
  /** Nothing has needed the server yet; the first request starts it. */
  | { readonly kind: 'idle' }
  | { readonly kind: 'starting' }
  /** `misfit` says why the server may not fit the extension; empty if it fits. */
  | { readonly kind: 'running'; readonly version: string; readonly misfit: string }
  /** The server crashed and is being started again. `attempt` counts from 1. */
  | { readonly kind: 'restarting'; readonly attempt: number }
  /** A private environment is being made for the server. */
  | { readonly kind: 'installing' }
  /**
   * No program was found. `fixable` means that the extension can set one up, `lacksPython` that it needs a Python for that
   * and there is none that is new enough.
   */
  | { readonly kind: 'missing'; readonly reason: string; readonly fixable: boolean; readonly lacksPython: boolean }
  | { readonly kind: 'stopped'; readonly reason: string };

/** What is said where the server can be set up, and the button where a Python is all that is missing. */
export const NOT_SET_UP = l10n.t('Ullage counts tokens with a small server, which is not set up yet.');
export const GET_PYTHON = l10n.t('Get Python…');

/** Whether the user has to do something. */
export function isTrouble(health: Health): health is Extract<Health, { reason: string }> {
  return health.kind === 'missing' || health.kind === 'stopped';
}

/** A server that is not set up yet is no error: it is the state of the first day. */
export function severityOf(health: Health): 'information' | 'warning' | 'error' {
  if (health.kind === 'stopped') return 'error';
  return health.kind === 'running' && health.misfit !== '' ? 'warning' : 'information';
}

/** Describes the state in one line for the user. */
export function describe(health: Health): string {
  switch (health.kind) {
    case 'starting':
      return l10n.t('The server is starting.');
    case 'idle':
      return l10n.t('The server starts when it is needed.');
    case 'running':
      return health.misfit || l10n.t('The server is running (version {0}).', health.version);
    case 'restarting':
      return l10n.t('The server stopped and is being started again (attempt {0}).', health.attempt);
    case 'installing':
      return l10n.t('The server is being set up.');
    default:
      return health.reason;
  }
}
