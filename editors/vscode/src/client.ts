/**
 * The client of the server: LSP's handshake and end, settings, messages and progress, and requests both ways. Ullage has
 * no documents, so nothing else of LSP is here. It shows no failure to the user; `Connection` does that.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';

import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import {
  createMessageConnection,
  type Logger,
  type MessageConnection,
  StreamMessageReader,
  StreamMessageWriter,
  Trace,
} from 'vscode-jsonrpc/node';

import { NotConnected, type ServerIntroduction } from './connection';
import { EditorModels } from './languageModels';
import type { ClientAbilities, Method, NotificationMethod } from './protocol.gen';
import type { Launch } from './server';
import type { Settings } from './settings';
import { asMessage } from './words';

/** Milliseconds in which the server must answer that it shuts down. */
const SHUTDOWN = 2_000;
/** LSP's `MessageType`. */
const ERROR = 1;
const WARNING = 2;

interface ShownMessage {
  readonly type: number;
  readonly message: string;
}

export class UllageClient {
  readonly #program: ServerProgram;
  readonly #log: vscode.LogOutputChannel;
  readonly #settings: Pick<Settings, 'read'>;
  readonly #died: (client: UllageClient) => void;
  readonly #prepare: (connection: MessageConnection) => void;
  #connection: MessageConnection | undefined;
  #isEnding = false;

  /**
   * `environment` is added to the editor's own. `prepare` adds what else is answered on the connection. `died` is called
   * when the connection is lost without `dispose`.
   */
  constructor(
    launch: Launch,
    environment: Readonly<Record<string, string>>,
    log: vscode.LogOutputChannel,
    settings: Pick<Settings, 'read'>,
    prepare: (connection: MessageConnection) => void,
    died: (client: UllageClient) => void,
  ) {
    this.#program = new ServerProgram(launch, environment, (text) => { log.info(text); });
    this.#log = log;
    this.#settings = settings;
    this.#prepare = prepare;
    this.#died = died;
  }

  /** Starts the program and shakes hands. Rejects if it cannot be run, or ends before it has answered. */
  async start(): Promise<ServerIntroduction> {
    const child = await this.#program.start();
    const connection = createMessageConnection(new StreamMessageReader(child.stdout), new StreamMessageWriter(child.stdin), loggerOf(this.#log));
    this.#connection = connection;
    const removeBars = drawProgress(connection);
    connection.onClose(() => {
      removeBars();
      // This rejects the requests that wait.
      connection.dispose();
      if (!this.#isEnding) this.#died(this);
    });
    connection.onError(([error]) => { this.#log.warn(error.message); });
    connection.onRequest('workspace/configuration', ({ items }: { readonly items: readonly unknown[] }) => items.map(() => this.#settings.read()));
    connection.onNotification('window/showMessage', show);
    connection.onNotification('window/logMessage', ({ message }: ShownMessage) => { this.#log.info(message); });
    this.#prepare(connection);
    connection.listen();
    const introduction = await connection.sendRequest<ServerIntroduction>('initialize', introductionOfEditor(this.#settings.read()));
    await connection.sendNotification('initialized', {});
    await this.configure();
    return introduction;
  }

  /** Writes the talk to the log as far as the setting says. A trace that the server writes itself stays as it is. */
  async configure(): Promise<void> {
    const wanted = vscode.workspace.getConfiguration('ullage').get<string>('trace.server', 'off');
    const tracer = { log: (first: string, more?: string) => { this.#log.info(more ? `${first}\n${more}` : first); } };
    await this.#connection?.trace(Trace.fromString(wanted), tracer, { sendNotification: false });
  }

  /** Sends a request. Rejects with `NotConnected` before `start`. */
  async request<P, R>(method: Method<P, R>, params: NoInfer<P>, token?: vscode.CancellationToken): Promise<R> {
    if (!this.#connection) throw new NotConnected(l10n.t('The server was not started.'));
    // A missing token must not be passed, or it would be sent as a second parameter.
    return this.#connection.sendRequest<R>(method.name, params, ...(token ? [token] : []));
  }

  async notify<P>(method: NotificationMethod<P>, params: NoInfer<P>): Promise<void> {
    await this.#connection?.sendNotification(method.name, params);
  }

  /** Sends the editor's current settings to the server. */
  async pushSettings(): Promise<void> {
    await this.#connection?.sendNotification('workspace/didChangeConfiguration', { settings: { ullage: this.#settings.read() } });
  }

  /** Returns the last line that the program wrote to standard error, or an empty string, once the program has ended. */
  lastWords(): Promise<string> {
    return this.#program.lastWords();
  }

  /** Whether the process has ended. */
  get hasEnded(): boolean {
    return this.#program.hasEnded;
  }

  /** Asks the server to end. Resolves when the process has ended. */
  async dispose(): Promise<void> {
    this.#isEnding = true;
    try {
      if (this.#connection && !this.#program.hasEnded) await shutDown(this.#connection);
    } finally {
      this.#connection?.dispose();
      await this.#program.end();
    }
  }
}

/** Asks the server to end. A server that does not answer, or has gone meanwhile, is left to its program's end. */
async function shutDown(connection: MessageConnection): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => { timer = setTimeout(resolve, SHUTDOWN); });
  await Promise.race([askToEnd(connection), late]).finally(() => { clearTimeout(timer); });
}

async function askToEnd(connection: MessageConnection): Promise<void> {
  try {
    await connection.sendRequest('shutdown');
    await connection.sendNotification('exit');
  } catch {
    // It ends with its input.
  }
}

/** Returns the params of `initialize`: what this editor can do, and the settings. */
function introductionOfEditor(settings: object): object {
  // When a folder becomes trusted the server is started again.
  const abilities: ClientAbilities = { permissions: false, models: EditorModels.areThere, folderTrusted: vscode.workspace.isTrusted };
  return {
    processId: process.pid,
    clientInfo: { name: vscode.env.appName, version: vscode.version },
    locale: vscode.env.language,
    rootUri: null,
    capabilities: {
      workspace: { configuration: true },
      window: { workDoneProgress: true, showMessage: {} },
      experimental: { ullage: abilities },
    },
    initializationOptions: settings,
  };
}

/** Returns the log as the library writes to it. */
function loggerOf(log: vscode.LogOutputChannel): Logger {
  return {
    error: (text) => { log.error(text); },
    warn: (text) => { log.warn(text); },
    info: (text) => { log.info(text); },
    log: (text) => { log.debug(text); },
  };
}

function show({ type, message: said }: ShownMessage): void {
  const message = asMessage(said);
  if (type === ERROR) void vscode.window.showErrorMessage(message);
  else if (type === WARNING) void vscode.window.showWarningMessage(message);
  else void vscode.window.showInformationMessage(message);
}

/** Milliseconds in which the last output of an ended program may still arrive. */
const LAST_WORDS = 500;
/** Milliseconds that a program may take to end after it was asked to. */
const GRACE = 2_000;

export class ServerProgram {
  readonly #launch: Launch;
  readonly #environment: Readonly<Record<string, string>>;
  readonly #log: (text: string) => void;
  #child: ChildProcessWithoutNullStreams | undefined;
  #line = '';

  /** `environment` is added to the editor's own. `log` is given what the program writes to standard error. */
  constructor(launch: Launch, environment: Readonly<Record<string, string>>, log: (text: string) => void) {
    this.#launch = launch;
    this.#environment = environment;
    this.#log = log;
  }

  /** Starts the program. Rejects if it cannot be run at all. */
  async start(): Promise<ChildProcessWithoutNullStreams> {
    const { command, words } = this.#launch;
    const child = spawn(command, [...words, 'lsp'], { stdio: 'pipe', env: { ...process.env, ...this.#environment } });
    this.#child = child;
    child.stderr.on('data', (chunk: Buffer) => {
      const text = chunk.toString().trim();
      this.#line = text.split('\n').at(-1) ?? this.#line;
      if (text !== '') this.#log(text);
    });
    // The end of the process is told by its output. A write that meets a closed pipe tells nothing more.
    child.stdin.on('error', () => undefined);
    await once(child, 'spawn');
    return child;
  }

  get hasEnded(): boolean {
    const child = this.#child;
    return child !== undefined && (child.exitCode !== null || child.signalCode !== null);
  }

  /** Returns the last line that the program wrote to standard error, or an empty string, once the program has ended. */
  async lastWords(): Promise<string> {
    await this.#ended(LAST_WORDS);
    return this.#line;
  }

  /** Ends the program's input, waits for it to end with that, and kills it if it does not. */
  async end(): Promise<void> {
    this.#child?.stdin.end();
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

type Token = string | number;

/** A step of a bar, as LSP's `$/progress` has it. */
interface Step {
  readonly kind: 'begin' | 'report' | 'end';
  readonly title?: string;
  readonly message?: string | null;
  readonly percentage?: number | null;
}

interface Bar {
  report(step: Step): void;
  end(): void;
}

/** Draws the bars of a connection while it lasts. Returns a function that removes those that are left. */
export function drawProgress(connection: MessageConnection): () => void {
  const bars = new Map<Token, Bar>();
  connection.onRequest('window/workDoneProgress/create', () => null);
  connection.onNotification('$/progress', ({ token, value }: { readonly token: Token; readonly value: Step }) => {
    if (value.kind === 'begin') bars.set(token, begin(value, () => { void cancel(connection, token); }));
    if (value.kind === 'report') bars.get(token)?.report(value);
    if (value.kind !== 'end') return;
    bars.get(token)?.end();
    bars.delete(token);
  });
  return () => {
    for (const bar of bars.values()) bar.end();
    bars.clear();
  };
}

async function cancel(connection: MessageConnection, token: Token): Promise<void> {
  try {
    await connection.sendNotification('window/workDoneProgress/cancel', { token });
  } catch {
    // The server has gone, and the work with it.
  }
}

function begin(first: Step, cancelled: () => void): Bar {
  let shown: vscode.Progress<{ message?: string; increment?: number }> | undefined;
  let end = (): void => undefined;
  let reached = 0;
  const over = new Promise<void>((resolve) => { end = resolve; });
  const options = { location: vscode.ProgressLocation.Notification, title: asMessage(first.title ?? 'Ullage'), cancellable: true };
  void vscode.window.withProgress(options, async (progress, token) => {
    shown = progress;
    token.onCancellationRequested(cancelled);
    await over;
  });
  const report = ({ message, percentage }: Step): void => {
    const done = percentage ?? reached;
    shown?.report({ ...(message ? { message: asMessage(message) } : {}), increment: done - reached });
    reached = done;
  };
  return { report, end };
}
