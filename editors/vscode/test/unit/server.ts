/** A real `ullage lsp` on a store of its own, in place of the connection that `Sessions` uses. */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';

import { createMessageConnection, StreamMessageReader, StreamMessageWriter, type CancellationToken, type MessageConnection } from 'vscode-jsonrpc/node';

import { SessionUpdate, type Method, type NotificationMethod, type SessionNotification } from '../../src/protocol.gen';
import type { Door } from '../../src/sessions';
import { repository } from './samples';
import { EventEmitter } from './vscode';

export const program = process.env['ULLAGE_PROGRAM'] ?? path.join(repository, '.venv/bin/ullage');

/** Whether there is a server to run. */
export const hasServer = existsSync(program);

export class RealServer implements Door {
  readonly #update = new EventEmitter<SessionNotification>();
  readonly onDidUpdate = this.#update.event;
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'ullage-unit-'));
  #process: ChildProcess | undefined;
  #connection: MessageConnection | undefined;

  async start(settings: object): Promise<void> {
    const process = spawn(program, ['lsp', '--store', path.join(this.#folder, 'store.db')], { stdio: ['pipe', 'pipe', 'inherit'] });
    const connection = createMessageConnection(new StreamMessageReader(process.stdout), new StreamMessageWriter(process.stdin));
    connection.onNotification(SessionUpdate.name, (note: SessionNotification) => { this.#update.fire(note); });
    connection.listen();
    this.#process = process;
    this.#connection = connection;
    const capabilities = { experimental: { ullage: true } };
    await connection.sendRequest('initialize', { processId: null, rootUri: null, capabilities, initializationOptions: settings });
    await connection.sendNotification('initialized', {});
  }

  request<P, R>(method: Method<P, R>, params: NoInfer<P>, token?: CancellationToken): Promise<R> {
    if (!this.#connection) throw new Error('start the server first');
    return this.#connection.sendRequest<R>(method.name, params, ...(token ? [token] : []));
  }

  notify<P>(method: NotificationMethod<P>, params: NoInfer<P>): Promise<void> {
    if (!this.#connection) throw new Error('start the server first');
    return this.#connection.sendNotification(method.name, params);
  }

  /** Ends the server without asking, like a crash. */
  async kill(): Promise<void> {
    const process = this.#process;
    this.#connection?.dispose();
    if (process?.exitCode !== null) return;
    const ended = new Promise((resolve) => process.once('exit', resolve));
    process.kill('SIGKILL');
    await ended;
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
