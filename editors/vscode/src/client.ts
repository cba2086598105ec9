/** The language client and its process: quiet, since `Connection` tells the person what there is to tell. */
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

/** How long the last words of a program that has ended may take to arrive, ms. */
const LAST_WORDS = 500;
/** How long a program may take to end after it was told to, ms. */
const GRACE = 2_000;

export class UllageClient extends LanguageClient {
  readonly #program: ServerProgram;

  /** `died` is called when the connection is lost without `dispose`. */
  constructor(command: string, log: vscode.LogOutputChannel, died: (client: UllageClient) => void) {
    const program = new ServerProgram(command);
    const options: LanguageClientOptions = {
      documentSelector: [],
      outputChannel: log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions: settings,
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

  /** The last line the program wrote to standard error, once it has ended; empty if there is none. */
  lastWords(): Promise<string> {
    return this.#program.lastWords();
  }

  /** When this has ended, so has the process. */
  override async dispose(timeout?: number): Promise<void> {
    try {
      await super.dispose(timeout);
    } finally {
      await this.#program.end();
    }
  }

  /** The library would show some failures in a toast of its own, beside ours. */
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

/** The editor's settings as the server reads them. */
export function settings(): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration('ullage');
}

class ServerProgram {
  readonly #command: string;
  #child: ChildProcess | undefined;
  #line = '';

  constructor(command: string) {
    this.#command = command;
  }

  /** Rejects when it cannot be run at all. */
  async start(): Promise<ChildProcess> {
    const child = spawn(this.#command, ['lsp'], { stdio: 'pipe' });
    this.#child = child;
    child.stderr.on('data', (chunk: Buffer) => {
      this.#line = chunk.toString().trim().split('\n').at(-1) ?? this.#line;
    });
    await once(child, 'spawn');
    return child;
  }

  async lastWords(): Promise<string> {
    await this.#ended(LAST_WORDS);
    return this.#line;
  }

  /** It ends when its input does; one that does not is killed. */
  async end(): Promise<void> {
    await this.#ended(GRACE);
    if (this.#child?.exitCode === null) this.#child.kill('SIGKILL');
  }

  /** Waits for the process to end, but not longer, ms. */
  async #ended(limit: number): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    // That it takes longer is no failure.
    await once(child, 'close', { signal: AbortSignal.timeout(limit) }).catch(() => undefined);
  }
}

/** Tells the server that this client understands its updates, and asks the person for permissions. */
class Announcement implements StaticFeature {
  fillClientCapabilities(capabilities: ClientCapabilities): void {
    capabilities.experimental = { ullage: { permissions: true } };
  }
  initialize(): void {
    // Nothing depends on what the server can do.
  }
  getState(): { kind: 'static' } {
    return { kind: 'static' };
  }
  clear(): void {
    // Holds nothing.
  }
}
