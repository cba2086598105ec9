/** The language status item that shows the server's state, with a command that helps. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import type { Connection } from './connection';
import { describe, GET_PYTHON, isTrouble, severityOf, type Health } from './health';

const SEVERITIES = {
  information: vscode.LanguageStatusSeverity.Information,
  warning: vscode.LanguageStatusSeverity.Warning,
  error: vscode.LanguageStatusSeverity.Error,
} as const;

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
    this.#item.severity = SEVERITIES[severityOf(health)];
    const fixable = (health.kind === 'missing' && health.fixable) || (health.kind === 'running' && health.misfit !== '');
    this.#item.command =
      fixable
        ? { title: health.kind === 'missing' && health.lacksPython ? GET_PYTHON : l10n.t('Set it up for me'), command: 'ullage.setUpServer' }
        : { title: l10n.t('Show log'), command: 'ullage.showLogs' };
  }
}
