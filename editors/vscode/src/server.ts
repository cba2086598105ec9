/** Finds the server's program, or offers to set one up. */
import * as fs from 'node:fs';
import * as path from 'node:path';

import * as vscode from 'vscode';

import { locate, type Found, type NotFound } from './locate';
import { PrivateEnvironment } from './privateEnvironment';
import { activeInterpreter, interpreters } from './python';

export class ServerLocator {
  readonly #environment: PrivateEnvironment;
  readonly #log: vscode.LogOutputChannel;

  constructor(context: vscode.ExtensionContext, log: vscode.LogOutputChannel) {
    const bundled = path.join(context.extensionPath, 'bundled');
    this.#environment = new PrivateEnvironment(context.globalStorageUri.fsPath, bundled, log);
    this.#log = log;
  }

  /** Whether `setUp` can provide a server. */
  get canSetUp(): boolean {
    return this.#environment.isPossible;
  }

  /** Whether only an environment of an earlier version exists. It may be renewed without asking again. */
  get isOutdated(): boolean {
    return this.#environment.isOutdated;
  }

  async find(): Promise<Found | NotFound> {
    const trusted = vscode.workspace.isTrusted;
    const active = trusted ? await activeInterpreter() : undefined;
    const place = locate({
      setting: vscode.workspace.getConfiguration('ullage').get<string>('server.path', ''),
      environment: process.env,
      pythonFolders: active ? [path.dirname(active)] : [],
      privateServer: this.#environment.isReady ? this.#environment.program : '',
      windows: process.platform === 'win32',
      trusted,
      isProgram,
    });
    this.#log.info('command' in place ? `Server: ${place.command}, from ${place.how}` : place.reason);
    return place;
  }

  /** Makes the private environment, with progress and Cancel. Throws an Error for the user. */
  async setUp(): Promise<void> {
    const chosen = vscode.workspace.getConfiguration('ullage').get<string>('server.python', '');
    const active = vscode.workspace.isTrusted ? await activeInterpreter() : undefined;
    const pythons = chosen ? [chosen] : interpreters(active);
    const options = { location: vscode.ProgressLocation.Notification, title: 'Setting up Ullage', cancellable: true };
    await vscode.window.withProgress(options, async (progress, token) => {
      const abort = new AbortController();
      token.onCancellationRequested(() => { abort.abort(); });
      await this.#environment.make(pythons, abort.signal, (message) => { progress.report({ message }); });
    });
  }
}

function isProgram(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}
