/** What the tests share: samples of the wire, a real server, and VS Code's memory. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';

import type { Memento } from 'vscode';
import {
  type CancellationToken,
  createMessageConnection,
  type MessageConnection,
  StreamMessageReader,
  StreamMessageWriter,
} from 'vscode-jsonrpc/node';

import type { Health } from '../../src/health';
import {
  type EditInfo,
  type Method,
  type NotificationMethod,
  type SessionNotification,
  SessionUpdate,
  type UsageMeta,
} from '../../src/protocol.gen';
import type { CompactionState, Door, UsageState } from '../../src/sessions';
import { EventEmitter } from './vscode';

export function memory(): Memento {
  const values = new Map<string, unknown>();
  return {
    keys: () => [...values.keys()],
    get: (key: string, fallback?: unknown) => values.get(key) ?? fallback,
    update: (key: string, value: unknown) => Promise.resolve(void values.set(key, value)),
  } as Memento;
}

export const PATIENCE = { timeout: 60_000, interval: 10 };

export const repository = path.resolve(import.meta.dirname, '../../../..');
const examples = path.join(repository, 'protocol/examples');

/** Returns the names of the golden messages with this prefix. */
export function exampleNames(prefix: string): readonly string[] {
  return readdirSync(examples).filter((name) => name.startsWith(prefix));
}

/** Returns a golden message. The caller states its type. */
export function example(name: string): unknown {
  return JSON.parse(readFileSync(path.join(examples, name), 'utf8'));
}

export const running: Health = { kind: 'running', version: '0.1.0', misfit: '' };

const meta: UsageMeta = {
  source: 'reported',
  level: 'normal',
  usable: 108_000,
  warnAt: 86_400,
  compactAt: 97_200,
  breakdown: { system_prompt: 1_200, tools: 6_104, messages: 31_010, tool_results: 19_318, summary: 800 },
  totals: {},
  model: 'claude-sonnet-4-5',
  messagesActive: 12,
  messagesArchived: 33,
  compactions: 1,
  oldestTimestamp: 0,
  reportedAt: 1_000_000,
  pendingMessages: 0,
  errorShare: 0.04,
  shares: null,
  asOf: 1_000_000,
  percent: 46,
  warnPercent: 68,
  window: { size: 128_000, source: 'catalog', basis: 'the list of models: claude-sonnet-4-5', contradiction: null },
  threshold: { tokens: 97_200, percent: 76, source: 'ours', basis: 'Ullage compacts at 90% of the 108,000 tokens', times: 0 },
  left: 38_768,
  callsLeft: { low: 4, mean: 9, high: 20 },
  remarks: [],
  hidden: { tokens: 0, name: '', parts: [] },
  managedBy: 'ullage',
  agent: '',
  followed: null,
  idle: null,
  cache: null,
  moment: null,
  rateLimits: [],
};

export function usage(changes: Partial<Omit<UsageState, 'meta'>> & { readonly meta?: Partial<UsageMeta> } = {}): UsageState {
  const base = { sessionId: 's_1', title: 'fix-login', used: 58_432, size: 128_000, modelName: meta.model, at: 0 };
  return { ...base, ...changes, meta: { ...meta, ...changes.meta } };
}

export const compaction: CompactionState = {
  sessionId: 's_1',
  compactionId: 'e_1',
  number: 1,
  trigger: 'manual',
  messages: 45,
  sizeBefore: 164_000,
  text: '',
};

export function edit(changes: Partial<EditInfo> = {}): EditInfo {
  const base = { id: 'e_1', kind: 'compaction', timestamp: 0, trigger: 'automatic', tokensSaved: 122_000 } as const;
  return { reverted: false, ...base, ...changes };
}

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
