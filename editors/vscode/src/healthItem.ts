/** The language status item that shows the server's state, with a command that helps. */
import * as vscode from 'vscode';

import type { Connection } from './connection';
import { describe, isTrouble, type Health } from './health';

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
    this.#item.text = `Ullage: ${health.kind}`;
    this.#item.detail = vscode.workspace.isTrusted ? describe(health) : `${describe(health)} Restricted: the folder is not trusted.`;
    this.#item.busy = !isTrouble(health) && health.kind !== 'running';
    this.#item.severity = isTrouble(health) ? vscode.LanguageStatusSeverity.Error : vscode.LanguageStatusSeverity.Information;
    this.#item.command =
      health.kind === 'missing' && health.fixable
        ? { title: 'Set it up for me', command: 'ullage.setUpServer' }
        : { title: 'Show log', command: 'ullage.showLogs' };
  }
}
