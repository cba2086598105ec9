/** The object that owns everything: the connection, the sessions, and what is on screen. */
import * as vscode from 'vscode';

import { Chat } from './chat';
import { Connection } from './connection';
import { errorText } from './errors';
import { HealthItem } from './healthItem';
import { MessageDocuments } from './messageDocuments';
import { Notices } from './notices';
import { Permissions } from './permissions';
import { Preview } from './preview';
import { SessionCancel } from './protocol.gen';
import { ServerLocator } from './server';
import { Sessions } from './sessions';
import { StatusBar } from './statusBar';

export class Ullage implements vscode.Disposable {
  readonly log = vscode.window.createOutputChannel('Ullage', { log: true });
  readonly preview = new Preview();
  /** Fires when messages were pinned or unpinned. The server sends no update for that. */
  readonly pinsChanged = new vscode.EventEmitter<void>();
  readonly messages = new MessageDocuments();
  readonly connection: Connection;
  readonly sessions: Sessions;
  readonly chat: Chat;
  readonly notices: Notices;
  readonly version: string;
  readonly #disposables: vscode.Disposable;
  #offered = false;

  constructor(context: vscode.ExtensionContext) {
    const packageJson = context.extension.packageJSON as { readonly version: string };
    this.version = packageJson.version;
    this.connection = new Connection(new ServerLocator(context, this.log), this.log, new Permissions());
    this.sessions = new Sessions(this.connection, context.workspaceState);
    this.chat = new Chat(this.sessions, (sessionId) => this.connection.notify(SessionCancel, { sessionId }));
    this.notices = new Notices(this.sessions, context.workspaceState);
    this.#disposables = vscode.Disposable.from(
      new StatusBar(this.connection, this.sessions),
      new HealthItem(this.connection),
      this.notices,
      this.connection.onDidChangeHealth(({ kind }) => {
        setContext('serverRunning', kind === 'running');
        if (kind === 'running') this.run(this.sessions.reload());
        if (kind === 'missing') this.run(this.#offerFix());
      }),
      this.sessions.onDidChangeSession((id) => { setContext('hasSession', id !== undefined); }),
      this.sessions.onDidChangeCompaction((run) => { setContext('compacting', run !== undefined); }),
      vscode.workspace.onDidChangeConfiguration((change) => { this.#configure(change); }),
      vscode.workspace.onDidGrantWorkspaceTrust(() => { this.run(this.connection.restart()); }),
      this.chat,
      this.sessions,
      this.connection,
      this.preview,
      this.pinsChanged,
      this.messages,
      this.log,
    );
  }

  /** Runs work without waiting for it. A failure is logged. */
  run(work: Promise<unknown>): void {
    work.catch((error: unknown) => { this.log.error(errorText(error)); });
  }

  dispose(): void {
    this.#disposables.dispose();
  }

  /** Offers to set up the server, once. The status bar shows the problem from then on. */
  async #offerFix(): Promise<void> {
    if (this.#offered) return;
    this.#offered = true;
    const text = "Ullage's server is not set up yet.";
    const chosen = await vscode.window.showWarningMessage(text, 'Set it up for me', 'Other ways…');
    if (chosen) await vscode.commands.executeCommand(chosen === 'Other ways…' ? 'ullage.showProblem' : 'ullage.setUpServer');
  }

  #configure(change: vscode.ConfigurationChangeEvent): void {
    if (change.affectsConfiguration('ullage.server')) this.run(this.connection.restart());
    else if (change.affectsConfiguration('ullage')) this.run(this.#pushSettings());
  }

  async #pushSettings(): Promise<void> {
    await this.connection.pushSettings();
    await this.sessions.refresh();
  }
}

/** Sets a context key for the `when` clauses of the manifest. */
function setContext(name: string, value: boolean): void {
  void vscode.commands.executeCommand('setContext', `ullage.${name}`, value);
}
