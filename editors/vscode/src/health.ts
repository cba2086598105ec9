/** The server's state as a value, in the language status item, and as text for a bug report. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import type { Connection } from './connection';

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
function severityOf(health: Health): vscode.LanguageStatusSeverity {
  const { Error: error, Warning: warning, Information: information } = vscode.LanguageStatusSeverity;
  if (health.kind === 'stopped') return error;
  return health.kind === 'running' && health.misfit !== '' ? warning : information;
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

const STATES: Readonly<Record<Health['kind'], string>> = {
  idle: l10n.t('Ullage: idle'),
  starting: l10n.t('Ullage: starting'),
  running: l10n.t('Ullage: running'),
  restarting: l10n.t('Ullage: restarting'),
  installing: l10n.t('Ullage: installing'),
  missing: l10n.t('Ullage: missing'),
  stopped: l10n.t('Ullage: stopped'),
};

export class HealthItem implements vscode.Disposable {
  readonly #item = vscode.languages.createLanguageStatusItem('ullage.health', { scheme: '*' });
  readonly #subscription: vscode.Disposable;

  constructor(connection: Connection) {
    this.#item.name = 'Ullage';
    this.#show(connection.health);
    this.#subscription = connection.onDidChangeHealth((health) => { this.#show(health); });
  }

  dispose(): void {
    vscode.Disposable.from(this.#item, this.#subscription).dispose();
  }

  #show(health: Health): void {
    this.#item.text = STATES[health.kind];
    this.#item.detail = vscode.workspace.isTrusted ? describe(health) : `${describe(health)} ${l10n.t('Restricted: the folder is not trusted.')}`;
    this.#item.busy = !isTrouble(health) && health.kind !== 'running' && health.kind !== 'idle';
    this.#item.severity = severityOf(health);
    const fixable = (health.kind === 'missing' && health.fixable) || (health.kind === 'running' && health.misfit !== '');
    this.#item.command =
      fixable
        ? { title: health.kind === 'missing' && health.lacksPython ? GET_PYTHON : l10n.t('Set it up for me'), command: 'ullage.setUpServer' }
        : { title: l10n.t('Show log'), command: 'ullage.showLogs' };
  }
}


export interface Facts {
  readonly extension: string;
  readonly editor: string;
  readonly platform: string;
  readonly trusted: boolean;
  readonly health: Health;
  readonly server: { readonly command: string; readonly how: string } | undefined;
  readonly usage: { readonly used: number; readonly size: number | null; readonly meta: unknown } | undefined;
  readonly settings: unknown;
}

/* eslint-disable texts/untranslated -- the report is in English, for those who read it */
/** Collects what a bug report needs, without messages, titles or keys. */
export function diagnosticsText(facts: Facts): string {
  const place = facts.server ? `${facts.server.command} (${facts.server.how})` : 'none';
  return [
    '## Ullage',
    `- extension: ${facts.extension}`,
    `- editor: ${facts.editor}`,
    `- platform: ${facts.platform}`,
    `- trusted folder: ${facts.trusted ? 'yes' : 'no'}`,
    `- server: ${place}`,
    `- state: ${describe(facts.health)}`,
    '',
    '### Settings',
    json(facts.settings),
    '### Active session',
    facts.usage ? json({ used: facts.usage.used, size: facts.usage.size, ...asObject(facts.usage.meta) }) : 'none',
    '',
  ].join('\n');
}
/* eslint-enable texts/untranslated */

function json(value: unknown): string {
  return `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;
}

function asObject(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {};
}
