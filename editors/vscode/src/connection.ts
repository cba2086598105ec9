/** The server's life: found, started, restarted after a crash, stopped, one step after another; and what its errors are for users. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import { CancellationError } from 'vscode';
import type { MessageConnection } from 'vscode-jsonrpc/node';

import type { UllageClient } from './client';
import { describe, type Health } from './health';
import type { EditorModels } from './languageModels';
import {
  type CompleteParams,
  type CountParams,
  type FollowingChange,
  FollowingChanged,
  type Method,
  methodNames,
  ModelsComplete,
  ModelsCount,
  type NotificationMethod,
  type SessionNotification,
  SessionUpdate,
} from './protocol.gen';
import { type Found, type NotFound, OWN_SERVER, type ServerLocator } from './server';
import type { Keys, Settings } from './settings';

/** A server that crashes more often than this within `CRASH_PERIOD` ms is not restarted until the user asks for it. */
const MAX_CRASHES = 4;
const CRASH_PERIOD = 180_000;
/** Milliseconds. A program that has not answered by then is not Ullage's server. A first start writes caches and may take 10 s. */
const START_TIMEOUT = 60_000;

export interface ConnectionOptions {
  readonly locator: ServerLocator;
  readonly log: vscode.LogOutputChannel;
  readonly keys: Keys;
  readonly settings: Pick<Settings, 'read'>;
  readonly editorModels: Pick<EditorModels, 'complete' | 'count' | 'serve'>;
  /** The extension's version. */
  readonly version: string;
}

export class Connection implements vscode.Disposable {
  readonly #health = new vscode.EventEmitter<Health>();
  readonly #update = new vscode.EventEmitter<SessionNotification>();
  readonly onDidChangeHealth = this.#health.event;
  readonly onDidUpdate = this.#update.event;
  readonly #followed = new vscode.EventEmitter<FollowingChange>();
  readonly onDidFollow = this.#followed.event;

  readonly #options: ConnectionOptions;
  #client: UllageClient | undefined;
  #place: Found | undefined;
  #state: Health = { kind: 'idle' };
  #crashes: number[] = [];
  #queue: Promise<void> = Promise.resolve();
  #waitingRestart: Promise<void> | undefined;
  /** Requests that wait for their answers. */
  #pending = 0;
  #cared = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  get health(): Health {
    return this.#state;
  }

  /** The program that runs, and where it was found. */
  get place(): Found | undefined {
    return this.#place;
  }

  /** Whether the extension's own server has not the packages for asking models, which can be fetched. */
  get lacksPackages(): boolean {
    return this.#place?.how === OWN_SERVER && this.#options.locator.own.lacksExtras;
  }

  /** Fetches what asks models, and starts the server with it. The user can cancel. Throws an Error for the user. */
  async fetchPackages(): Promise<void> {
    await this.#options.locator.fetchExtras();
    await this.restart();
  }

  /** Finds out whether there is a server, without starting it. */
  look(): Promise<void> {
    return this.#enqueue(async () => {
      const places = await this.#options.locator.find();
      if ('reason' in places) this.#setMissing(places);
      else this.#setHealth({ kind: 'idle' });
    });
  }

  /** Starts the server if nothing has needed it yet. */
  wake(): void {
    if (this.#state.kind === 'idle') this.restart().catch((error: unknown) => { this.#options.log.error(errorText(error)); });
  }

  /** Stops the server if it runs, and starts it. Calls share a restart that is still waiting. */
  restart(): Promise<void> {
    this.#crashes = [];
    this.#waitingRestart ??= this.#enqueue(async () => {
      this.#waitingRestart = undefined;
      await this.#stop();
      await this.#start({ kind: 'starting' });
    });
    return this.#waitingRestart;
  }

  /** Makes the private environment and starts the server from it. */
  setUp(): Promise<void> {
    return this.#enqueue(async () => {
      await this.#stop();
      try {
        this.#setHealth({ kind: 'installing' });
        this.#cared = false;
        await this.#options.locator.setUp();
      } finally {
        // The server that ran before may still work.
        await this.#start({ kind: 'starting' });
      }
    });
  }

  /** Resolves after all pending starts and stops, with the server started if it can be. */
  async ready(): Promise<void> {
    this.wake();
    await this.#queue;
  }

  /** Sends a request to the server after all pending starts and stops. */
  async request<P, R>(method: Method<P, R>, params: NoInfer<P>, token?: vscode.CancellationToken): Promise<R> {
    await this.ready();
    if (!this.#client) throw new NotConnected(describe(this.#state));
    this.#pending += 1;
    try {
      return await this.#client.request(method, params, token);
    } finally {
      this.#pending -= 1;
    }
  }

  async notify<P>(method: NotificationMethod<P>, params: NoInfer<P>): Promise<void> {
    await this.#client?.notify(method, params);
  }

  /** Sends the editor's current settings to the server. */
  async pushSettings(): Promise<void> {
    await this.#client?.configure();
    await this.#client?.pushSettings();
  }

  dispose(): void {
    this.#health.dispose();
    this.#update.dispose();
    this.#followed.dispose();
  }

  /** Stops the server, for `deactivate`. Resolves when the server has ended. */
  stop(): Promise<void> {
    return this.#enqueue(() => this.#stop());
  }

  #enqueue(work: () => Promise<void>): Promise<void> {
    const done = this.#queue.then(work);
    this.#queue = done.catch((error: unknown) => { this.#options.log.error(errorText(error)); });
    return done;
  }

  async #start(begin: Health): Promise<void> {
    const { locator } = this.#options;
    this.#setHealth(begin);
    const places = await locator.find();
    if ('reason' in places) {
      this.#setMissing(places);
      return;
    }
    const last = places.length - 1;
    for (const [at, place] of places.entries()) if (await this.#startAt(place, at === last)) break;
    if (this.#state.kind === 'running' && this.#place?.how === OWN_SERVER) void this.#careForEnvironment();
  }

  /** Starts a program. Returns false if it is of no use and another one can be tried. */
  async #startAt(place: Found, isLast: boolean): Promise<boolean> {
    const { keys, locator, log, settings, version } = this.#options;
    this.#place = place;
    // Most windows need no server, and so not what speaks to it.
    const { UllageClient } = await import('./client');
    const client = new UllageClient(place, await keys.environment(), log, settings, (connection) => { this.#answer(connection); }, (dead) => { this.#onDeath(dead); });
    let introduced: ServerIntroduction;
    try {
      introduced = await within(START_TIMEOUT, client.start());
    } catch (error) {
      const why = (await client.lastWords()) || (client.hasEnded ? l10n.t('it ended at once') : errorText(error));
      const reason = l10n.t('{0} could not be started: {1}', place.command, why);
      await this.#end(client);
      log.warn(reason);
      // An own server that does not start can be made anew: a system's update has taken its Python or its C library away.
      if (isLast && place.how === OWN_SERVER && locator.own.isPossible) this.#setMissing({ reason, lacksPython: false });
      else if (isLast) this.#setHealth({ kind: 'stopped', reason });
      return isLast;
    }
    const problem = misfit(introduced, version) ?? '';
    if (problem !== '') log.warn(`${place.command}: ${problem}`);
    if (problem !== '' && !isLast) {
      await this.#end(client);
      return false;
    }
    this.#client = client;
    await this.#options.editorModels.serve(this);
    this.#setHealth({ kind: 'running', version: introduced.serverInfo?.version ?? l10n.t('unknown'), misfit: problem });
    return true;
  }

  /** Adds what the server sends and asks by itself. */
  #answer(connection: MessageConnection): void {
    const { editorModels } = this.#options;
    connection.onNotification(SessionUpdate.name, (params: SessionNotification) => { this.#update.fire(params); });
    connection.onNotification(FollowingChanged.name, (params: FollowingChange) => { this.#followed.fire(params); });
    connection.onRequest(ModelsCount.name, (params: CountParams, token: vscode.CancellationToken) => editorModels.count(params, token));
    connection.onRequest(ModelsComplete.name, (params: CompleteParams, token: vscode.CancellationToken) => editorModels.complete(params, token));
  }

  /** Brings the private environment up to date while its server runs, once per window. Without a network all stays as it is. */
  async #careForEnvironment(): Promise<void> {
    const { locator, log } = this.#options;
    if (this.#cared) return;
    this.#cared = true;
    try {
      if (locator.own.isOutdated) {
        await locator.renew();
        await this.#takeRenewed();
      } else {
        await locator.own.removeOthers();
      }
      // Where pip has made the server, the user has agreed that the packages for asking models are fetched, too.
      if (!locator.own.hasProgram && locator.own.lacksExtras) await locator.addExtras();
    } catch (error) {
      if (!isCancelled(error)) log.warn(`The server's environment could not be brought up to date: ${errorText(error)}`);
    }
  }

  /** Restarts into a renewed environment. Who waits for an answer decides when. */
  async #takeRenewed(): Promise<void> {
    const busy = this.#pending > 0;
    const restart = l10n.t('Restart it now');
    if (busy && (await vscode.window.showInformationMessage(l10n.t("Ullage's server was updated."), restart)) !== restart) return;
    await this.restart();
  }

  async #stop(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    if (client) await this.#end(client);
  }

  /** Ends a client. Its process may have ended already. */
  async #end(client: UllageClient): Promise<void> {
    await client.dispose().catch((error: unknown) => { this.#options.log.warn(errorText(error)); });
  }

  /** Restarts the server after a crash. If the server dies while it starts, the failed start reports that. */
  #onDeath(client: UllageClient): void {
    if (client !== this.#client) return;
    this.#client = undefined;
    const now = Date.now();
    this.#crashes = [...this.#crashes.filter((then) => now - then < CRASH_PERIOD), now];
    const attempt = this.#crashes.length;
    this.#options.log.warn(`The server ended unexpectedly (${attempt} of ${MAX_CRASHES} times in three minutes).`);
    if (attempt > MAX_CRASHES) {
      this.#setHealth({ kind: 'stopped', reason: l10n.t('The server stopped again and again; see its log, then restart it.') });
      return;
    }
    void this.#enqueue(() => this.#start({ kind: 'restarting', attempt })).catch(() => undefined);
  }

  #setMissing({ reason, lacksPython }: NotFound): void {
    this.#setHealth({ kind: 'missing', reason, fixable: this.#options.locator.own.isPossible, lacksPython });
  }

  #setHealth(health: Health): void {
    this.#state = health;
    this.#options.log.info(describe(health));
    this.#health.fire(health);
  }
}

/** Returns the result of the work. Throws if the work takes longer than `limit` milliseconds. */
async function within<T>(limit: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => { reject(new Error(l10n.t('no answer within {0} s', limit / 1_000))); }, limit);
  });
  return Promise.race([work, late]).finally(() => { clearTimeout(timer); });
}

/** The part of a server's `initialize` result that is read here. It comes from a program that may be another. */
export interface ServerIntroduction {
  readonly serverInfo?: { readonly name: string; readonly version?: string | undefined } | undefined;
  readonly capabilities: { readonly experimental?: unknown };
}

/**
 * Returns why a server does not fit the extension of this version, or undefined if it fits. A server fits if it has
 * every method of the extension's protocol and is of the same release: before 1.0 a minor version may break.
 */
export function misfit(server: ServerIntroduction, extension: string): string | undefined {
  const version = server.serverInfo?.version ?? l10n.t('unknown');
  const methods = methodsOf(server.capabilities.experimental);
  if (!methods) return l10n.t('The program is not an Ullage server.');
  const missing = methodNames.filter((name) => !methods.includes(name));
  if (missing.length > 0) return l10n.t('The server is version {0}, which lacks {1}; this extension ({2}) needs a newer one.', version, missing.join(', '), extension);
  if (release(version) !== release(extension)) return l10n.t('The server is version {0}, and this extension {1}; they may not fit together.', version, extension);
  return undefined;
}

/** Returns the part of a version that must be equal: `1` of `1.4.2`, `0.4` of `0.4.2`. */
function release(version: string): string {
  const [major = '', minor = ''] = version.split('.');
  return major === '0' ? `0.${minor}` : major;
}

function methodsOf(experimental: unknown): readonly unknown[] | undefined {
  const ullage: unknown = isObject(experimental) ? experimental['ullage'] : undefined;
  const methods: unknown = isObject(ullage) ? ullage['methods'] : undefined;
  return Array.isArray(methods) ? methods : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/**
 * The codes of JSON-RPC's library for requests that were not answered, or could not even be written, because the server had
 * gone: rejected, not written, and a connection that is closed or disposed. The library is not loaded for them.
 */
const LOST: readonly number[] = [-32_097, -32_099, 1, 2];
/** The code of a request that was cancelled. */
const CANCELLED = -32_800;

/** Thrown when the server cannot be reached now. */
export class NotConnected extends Error {}

/** Returns the `kind` of a server's error, or undefined for any other error. */
export function errorKind(error: unknown): string | undefined {
  const data: unknown = codeOf(error) !== undefined && 'data' in (error as object) ? (error as { readonly data: unknown }).data : undefined;
  if (typeof data !== 'object' || data === null || !('kind' in data)) return undefined;
  return typeof data.kind === 'string' ? data.kind : undefined;
}

/** Whether the error means that the request was cancelled. */
export function isCancelled(error: unknown): boolean {
  return error instanceof CancellationError || errorKind(error) === 'Cancelled' || codeOf(error) === CANCELLED;
}

/** Whether the server ended, or was stopped, before it answered. */
export function isLost(error: unknown): boolean {
  if (error instanceof NotConnected) return true;
  const code = codeOf(error);
  return code !== undefined && LOST.includes(code);
}

/** Returns the code of an error of JSON-RPC's library. Those of Node are words. */
function codeOf(error: unknown): number | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' ? error.code : undefined;
}

/** Returns the error as one line. */
export function errorText(error: unknown): string {
  if (isLost(error) && !(error instanceof NotConnected)) return l10n.t('The server ended before it answered.');
  return error instanceof Error ? error.message : String(error);
}
