/** The language client and its process. It shows nothing to the user; `Connection` does that. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

import * as vscode from 'vscode';
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  RevealOutputChannelOn,
  type ClientCapabilities,
  type LanguageClientOptions,
  type StaticFeature,
} from 'vscode-languageclient/node';

import { EditorModels } from './editorModels';
import type { Launch } from './privateEnvironment';
import { settingNames, type ClientAbilities } from './protocol.gen';
import { nested } from './settingValues';

/** Milliseconds in which the last output of an ended program may still arrive. */
const LAST_WORDS = 500;
/** Milliseconds that a program may take to end after it was asked to. */
const GRACE = 2_000;

export class UllageClient extends LanguageClient {
  readonly #program: ServerProgram;

  /** `environment` is added to the editor's own. `died` is called when the connection is lost without `dispose`. */
  constructor(launch: Launch, environment: Readonly<Record<string, string>>, log: vscode.LogOutputChannel, died: (client: UllageClient) => void) {
    const program = new ServerProgram(launch, environment);
    const options: LanguageClientOptions = {
      documentSelector: [],
      outputChannel: log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions: settings,
      middleware: { workspace: { configuration: ({ items }) => items.map(() => settings()) } },
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => {
          died(this);
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
    };
    super('ullage', 'Ullage', () => program.start(), options);
    this.#program = program;
    this.registerFeature(new Announcement());
  }

  /** Returns the last line that the program wrote to standard error, or an empty string, once the program has ended. */
  lastWords(): Promise<string> {
    return this.#program.lastWords();
  }

  /** Whether the process has ended. */
  get hasEnded(): boolean {
    return this.#program.hasEnded;
  }

  /** Resolves when the process has ended. */
  override async dispose(timeout?: number): Promise<void> {
    try {
      await super.dispose(timeout);
    } finally {
      await this.#program.end();
    }
  }

  /** Keeps the library from showing its own message next to the extension's. */
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

/**
 * Returns the editor's settings as the server reads them: those of the extension's manifest alone. The server refuses
 * settings with a name that it does not know, and so any folder could turn all of a user's settings off with one.
 */
export function settings(): object {
  const configuration = vscode.workspace.getConfiguration('ullage');
  return nested(settingNames, (name) => configuration.get(name));
}

class ServerProgram {
  readonly #launch: Launch;
  readonly #environment: Readonly<Record<string, string>>;
  #child: ChildProcess | undefined;
  #line = '';

  constructor(launch: Launch, environment: Readonly<Record<string, string>>) {
    this.#launch = launch;
    this.#environment = environment;
  }

  /** Starts the program. Rejects if it cannot be run at all. */
  async start(): Promise<ChildProcess> {
    const { command, words } = this.#launch;
    const child = spawn(command, [...words, 'lsp'], { stdio: 'pipe', env: { ...process.env, ...this.#environment } });
    this.#child = child;
    child.stderr.on('data', (chunk: Buffer) => {
      this.#line = chunk.toString().trim().split('\n').at(-1) ?? this.#line;
    });
    await once(child, 'spawn');
    return child;
  }

  get hasEnded(): boolean {
    const child = this.#child;
    return child !== undefined && (child.exitCode !== null || child.signalCode !== null);
  }

  async lastWords(): Promise<string> {
    await this.#ended(LAST_WORDS);
    return this.#line;
  }

  /** Waits for the program to end with its input, and kills it if it does not. */
  async end(): Promise<void> {
    await this.#ended(GRACE);
    if (this.#child?.exitCode === null) this.#child.kill('SIGKILL');
  }

  /** Waits until the process ends, for at most `limit` milliseconds. */
  async #ended(limit: number): Promise<void> {
    const child = this.#child;
    if (!child || this.hasEnded) return;
    // A process that takes longer is no error here.
    await once(child, 'close', { signal: AbortSignal.timeout(limit) }).catch(() => undefined);
  }
}

/**
 * Declares in the capabilities that this client understands Ullage's updates, asks the user for permissions and VS
 * Code's models for answers, and whether the folder is trusted. When it becomes trusted the server is started again.
 */
class Announcement implements StaticFeature {
  fillClientCapabilities(capabilities: ClientCapabilities): void {
    const abilities: ClientAbilities = { permissions: true, models: EditorModels.areThere, folderTrusted: vscode.workspace.isTrusted };
    capabilities.experimental = { ullage: abilities };
  }
  initialize(): void {
    // The client does not depend on the server's capabilities.
  }
  getState(): { kind: 'static' } {
    return { kind: 'static' };
  }
  clear(): void {
    // There is nothing to clear.
  }
}
