/** The server's life: found, started, restarted after a crash, stopped. All steps run one after another. */
import * as vscode from 'vscode';

import { settings, UllageClient } from './client';
import { errorText, NotConnected } from './errors';
import { describe, type Health } from './health';
import { isFound, type Found } from './locate';
import type { Permissions } from './permissions';
import {
  SessionRequestPermission,
  SessionUpdate,
  type Method,
  type NotificationMethod,
  type RequestPermissionParams,
  type SessionNotification,
} from './protocol.gen';
import type { ServerLocator } from './server';

/** A server that crashes more often than this within `CRASH_PERIOD` ms is not restarted until the user asks for it. */
const MAX_CRASHES = 4;
const CRASH_PERIOD = 180_000;
/** Milliseconds. A program that has not answered by then is not Ullage's server. A first start writes caches and may take 10 s. */
const START_TIMEOUT = 60_000;

export class Connection implements vscode.Disposable {
  readonly #health = new vscode.EventEmitter<Health>();
  readonly #update = new vscode.EventEmitter<SessionNotification>();
  readonly onDidChangeHealth = this.#health.event;
  readonly onDidUpdate = this.#update.event;

  readonly #locator: ServerLocator;
  readonly #log: vscode.LogOutputChannel;
  readonly #permissions: Permissions;
  #client: UllageClient | undefined;
  #place: Found | undefined;
  #state: Health = { kind: 'starting' };
  #crashes: number[] = [];
  #queue: Promise<void> = Promise.resolve();
  #waitingRestart: Promise<void> | undefined;

  constructor(locator: ServerLocator, log: vscode.LogOutputChannel, permissions: Permissions) {
    this.#locator = locator;
    this.#log = log;
    this.#permissions = permissions;
  }

  get health(): Health {
    return this.#state;
  }

  /** The program that runs, and where it was found. */
  get place(): Found | undefined {
    return this.#place;
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
        await this.#install();
      } finally {
        // The server that ran before may still work.
        await this.#start({ kind: 'starting' });
      }
    });
  }

  /** Sends a request to the server after all pending starts and stops. */
  async request<P, R>(method: Method<P, R>, params: NoInfer<P>, token?: vscode.CancellationToken): Promise<R> {
    await this.#queue;
    if (!this.#client) throw new NotConnected(describe(this.#state));
    // A missing token must not be passed, or it would be sent as a second parameter.
    return this.#client.sendRequest<R>(method.name, params, ...(token ? [token] : []));
  }

  async notify<P>(method: NotificationMethod<P>, params: NoInfer<P>): Promise<void> {
    await this.#client?.sendNotification(method.name, params);
  }

  /** Sends the editor's current settings to the server. */
  async pushSettings(): Promise<void> {
    await this.#client?.sendNotification('workspace/didChangeConfiguration', { settings: { ullage: settings() } });
  }

  dispose(): void {
    this.#health.dispose();
    this.#update.dispose();
  }

  /** Stops the server, for `deactivate`. Resolves when the server has ended. */
  stop(): Promise<void> {
    return this.#enqueue(() => this.#stop());
  }

  #enqueue(work: () => Promise<void>): Promise<void> {
    const done = this.#queue.then(work);
    this.#queue = done.catch((error: unknown) => { this.#log.error(errorText(error)); });
    return done;
  }

  async #start(begin: Health): Promise<void> {
    this.#setHealth(begin);
    // Without a network the renewal fails, but another program may still be found.
    if (this.#locator.isOutdated) await this.#install().catch((error: unknown) => { this.#log.error(errorText(error)); });
    const place = await this.#locator.find();
    if (!isFound(place)) {
      this.#setHealth({ kind: 'missing', reason: place.reason, fixable: this.#locator.canSetUp });
      return;
    }
    this.#place = place;
    const client = new UllageClient(place.command, this.#log, (dead) => { this.#onDeath(dead); });
    client.onNotification(SessionUpdate.name, (params: SessionNotification) => { this.#update.fire(params); });
    client.onRequest(SessionRequestPermission.name, (params: RequestPermissionParams, token: vscode.CancellationToken) => this.#permissions.ask(params, token));
    try {
      await within(START_TIMEOUT, client.start());
      this.#client = client;
      this.#setHealth({ kind: 'running', version: client.initializeResult?.serverInfo?.version ?? 'unknown' });
    } catch (error) {
      const why = (await client.lastWords()) || errorText(error);
      await client.dispose().catch((failure: unknown) => { this.#log.warn(errorText(failure)); });
      this.#setHealth({ kind: 'stopped', reason: `${place.command} could not be started: ${why}` });
    }
  }

  async #install(): Promise<void> {
    const before = this.#state;
    this.#setHealth({ kind: 'installing' });
    try {
      await this.#locator.setUp();
    } catch (error) {
      this.#setHealth(before);
      throw error;
    }
  }

  async #stop(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    // The process may have ended already.
    await client?.dispose().catch((error: unknown) => { this.#log.warn(errorText(error)); });
  }

  /** Restarts the server after a crash. If the server dies while it starts, the failed start reports that. */
  #onDeath(client: UllageClient): void {
    if (client !== this.#client) return;
    this.#client = undefined;
    const now = Date.now();
    this.#crashes = [...this.#crashes.filter((then) => now - then < CRASH_PERIOD), now];
    const attempt = this.#crashes.length;
    this.#log.warn(`The server ended unexpectedly (${attempt} of ${MAX_CRASHES} times in three minutes).`);
    if (attempt > MAX_CRASHES) {
      this.#setHealth({ kind: 'stopped', reason: 'The server stopped again and again; see its log, then restart it.' });
      return;
    }
    void this.#enqueue(() => this.#start({ kind: 'restarting', attempt })).catch(() => undefined);
  }

  #setHealth(health: Health): void {
    this.#state = health;
    this.#log.info(describe(health));
    this.#health.fire(health);
  }
}

/** Returns the result of the work. Throws if the work takes longer than `limit` milliseconds. */
async function within<T>(limit: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => { reject(new Error(`no answer within ${limit / 1_000} s`)); }, limit);
  });
  return Promise.race([work, late]).finally(() => { clearTimeout(timer); });
}
