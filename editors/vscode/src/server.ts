/** Finds the server's program, or sets one up. */
import * as fs from 'node:fs';
import * as path from 'node:path';

import * as vscode from 'vscode';

import { locate, type Found, type NotFound } from './locate';
import { PrivateEnvironment } from './privateEnvironment';
import { activeInterpreter, interpreters } from './python';

type Work = (signal: AbortSignal, report: (message: string) => void) => Promise<void>;

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

  /** Whether only an environment for an earlier wheel exists. It is used until it is renewed, which needs no new consent. */
  get isOutdated(): boolean {
    return this.#environment.isOutdated;
  }

  /** Whether the private environment lacks the packages for asking models. */
  get lacksExtras(): boolean {
    return this.#environment.lacksExtras;
  }

  /** Returns the programs to try, best first. */
  async find(): Promise<readonly [Found, ...Found[]] | NotFound> {
    const trusted = vscode.workspace.isTrusted;
    const active = trusted ? await activeInterpreter() : undefined;
    const places = locate({
      setting: vscode.workspace.getConfiguration('ullage').get<string>('server.path', ''),
      environment: process.env,
      pythonFolders: active ? [path.dirname(active)] : [],
      privateServer: this.#environment.linkedProgram(),
      windows: process.platform === 'win32',
      trusted,
      isProgram,
    });
    this.#log.info('reason' in places ? places.reason : `Servers: ${places.map(({ command, how }) => `${command}, from ${how}`).join('; ')}`);
    return places;
  }

  /** Makes the private environment, with progress and Cancel. Throws an Error for the user. */
  async setUp(): Promise<void> {
    const pythons = await this.#pythons();
    await cancellable('Setting up Ullage', (signal, report) => this.#environment.make(pythons, signal, report));
  }

  /** Makes the environment anew for the wheel of this extension. Throws an Error if that fails; the earlier one stays. */
  async renew(): Promise<void> {
    const pythons = await this.#pythons();
    await cancellable("Updating Ullage's server", (signal, report) => this.#environment.make(pythons, signal, report));
  }

  /** Adds the packages for asking models. Throws an Error for the user. */
  async addExtras(): Promise<void> {
    const options = { location: vscode.ProgressLocation.Window, title: 'Ullage: adding what asks models' };
    await vscode.window.withProgress(options, () => this.#environment.addExtras(new AbortController().signal));
  }

  /** Removes environments of earlier wheels. */
  async tidy(): Promise<void> {
    await this.#environment.removeOthers();
  }

  async #pythons(): Promise<readonly string[]> {
    const chosen = vscode.workspace.getConfiguration('ullage').get<string>('server.python', '');
    const active = vscode.workspace.isTrusted ? await activeInterpreter() : undefined;
    return chosen ? [chosen] : interpreters(active);
  }
}

async function cancellable(title: string, work: Work): Promise<void> {
  const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
  await vscode.window.withProgress(options, async (progress, token) => {
    const abort = new AbortController();
    token.onCancellationRequested(() => { abort.abort(); });
    try {
      await work(abort.signal, (message) => { progress.report({ message }); });
    } catch (error) {
      if (abort.signal.aborted) throw new vscode.CancellationError();
      throw error;
    }
  });
}

function isProgram(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}
