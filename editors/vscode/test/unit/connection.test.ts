/** The client and a real server: the handshake, requests, settings, a crash, the end, and the progress bars it is asked for. */
import { EventEmitter } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type * as vscode from 'vscode';
import { ConnectionError, ConnectionErrors, ErrorCodes, ResponseError } from 'vscode-jsonrpc';
import type { MessageConnection } from 'vscode-jsonrpc/node';

import { drawProgress, UllageClient } from '../../src/client';
import { errorKind, errorText, isCancelled, isLost, misfit, NotConnected, type ServerIntroduction } from '../../src/connection';
import { errorCodes, type ErrorObject, methodNames, SessionList, SessionNew } from '../../src/protocol.gen';
import { example, exampleNames, hasServer, PATIENCE, program } from './support';
import { CancellationError, window, workspace } from './vscode';

describe('the client', () => {
  const info = vi.fn();
  const log = { error: vi.fn(), warn: vi.fn(), info, debug: vi.fn() } as unknown as vscode.LogOutputChannel;
  let folder: string;
  let settings: object = {};
  const died = vi.fn();
  const clients: UllageClient[] = [];

  function client(command = program, words: readonly string[] = []): UllageClient {
    const environment = { HOME: folder, XDG_DATA_HOME: folder, XDG_CACHE_HOME: folder };
    const made = new UllageClient({ command, words }, environment, log, { read: () => settings }, () => undefined, died);
    clients.push(made);
    return made;
  }

  beforeEach(() => {
    vi.clearAllMocks();
    folder = mkdtempSync(path.join(tmpdir(), 'ullage-client-'));
  });
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((each) => each.dispose()));
    rmSync(folder, { recursive: true, force: true });
  });

  describe.skipIf(!hasServer)('with a real server', () => {
    test('the server introduces itself, answers, and ends when it is asked to', async () => {
      const own = client();
      const introduction = await own.start();
      const { version = '' } = introduction.serverInfo ?? {};
      expect(misfit(introduction, version)).toBeUndefined();
      await expect(own.request(SessionList, {})).resolves.toMatchObject({ sessions: [] });
      await own.dispose();
      expect(own.hasEnded).toBe(true);
      expect(died).not.toHaveBeenCalled();
    });

    test('a request that the server cannot answer any more is lost, and its death is told once', async () => {
      const id = path.join(folder, 'id');
      const own = client('/bin/sh', ['-c', `echo $$ >"${id}"; exec "${program}" "$@"`, 'sh']);
      await own.start();
      const asked = own.request(SessionNew, { cwd: folder }).catch((error: unknown) => error);
      process.kill(Number(readFileSync(id, 'utf8')), 'SIGKILL');
      await expect.poll(() => died.mock.calls, PATIENCE).toEqual([[own]]);
      // The answer may have come first.
      const answer = await asked;
      expect(answer instanceof Error ? isLost(answer) : true).toBe(true);
      expect(isLost(await own.request(SessionList, {}).catch((error: unknown) => error))).toBe(true);
    });
  });

  describe.skipIf(!hasServer)('with settings', () => {
    function set(values: Readonly<Record<string, unknown>>): void {
      const get = (name: string, fallback?: unknown): unknown => values[name] ?? fallback;
      vi.spyOn(workspace, 'getConfiguration').mockReturnValue({ get } as unknown as vscode.WorkspaceConfiguration);
    }
    afterEach(() => {
      settings = {};
      vi.restoreAllMocks();
    });

    test('settings that the server refuses are told in its words, those of the start and those of later', async () => {
      settings = { context: { warnAt: 'high' } };
      const own = client();
      await own.start();
      await expect.poll(() => window.showWarningMessage.mock.calls.flat().join(), PATIENCE).toContain('warnAt');
      settings = { context: { compactAt: 'later' } };
      await own.pushSettings();
      await expect.poll(() => window.showWarningMessage.mock.calls.flat().join(), PATIENCE).toContain('compactAt');
    });

    test('the talk with the server goes to the log as far as the setting says', async () => {
      set({});
      const own = client();
      await own.start();
      await own.request(SessionList, {});
      const logged = (): string => info.mock.calls.flat().join('\n');
      expect(logged()).not.toContain(SessionList.name);
      set({ 'trace.server': 'messages' });
      await own.configure();
      await own.request(SessionList, {});
      expect(logged()).toContain(SessionList.name);
      expect(logged()).not.toContain('"sessions"');
      set({ 'trace.server': 'verbose' });
      await own.configure();
      await own.request(SessionList, {});
      expect(logged()).toContain('"sessions"');
    });
  });

  test('a program that ends at once is no server, and its last words say why', async () => {
    const own = client(process.execPath, ['-e', 'console.error("first"); console.error("no such option"); process.exit(2)', '--']);
    await expect(own.start()).rejects.toSatisfy(isLost);
    await expect(own.lastWords()).resolves.toBe('no such option');
  });

  test('a program that is not there cannot be started', async () => {
    await expect(client(path.join(folder, 'nothing')).start()).rejects.toThrow(/ENOENT/);
  });

  describe('a progress bar of the server', () => {
    const taken = new EventEmitter();
    const sendNotification = vi.fn(() => Promise.resolve());
    const connection = {
      onRequest: vi.fn(),
      onNotification: (_: string, handle: (value: unknown) => void) => { taken.removeAllListeners('progress').on('progress', handle); },
      sendNotification,
    } as unknown as MessageConnection;
    const step = (value: object): void => { taken.emit('progress', { token: 'a', value }); };

    function shown(): { readonly report: ReturnType<typeof vi.fn>; readonly work: Promise<unknown>; cancel(): void; readonly title: string } {
      const [options, begin] = window.withProgress.mock.lastCall as unknown as [{ readonly title: string }, (progress: object, token: object) => Promise<unknown>];
      const report = vi.fn();
      let cancel = (): void => undefined;
      const work = begin({ report }, { onCancellationRequested: (handle: () => void) => { cancel = handle; } });
      return { report, work, cancel: () => { cancel(); }, title: options.title };
    }

    beforeEach(() => { window.withProgress.mockImplementation(() => Promise.resolve()); });

    test('shows the lines and the shares that come, and goes at the end', async () => {
      drawProgress(connection);
      step({ kind: 'begin', title: 'Indexing the archive', cancellable: true });
      const bar = shown();
      step({ kind: 'report', message: '1,000 records left', percentage: 20 });
      step({ kind: 'report', message: '10 records left', percentage: 90 });
      step({ kind: 'end', message: null });
      await bar.work;
      expect(bar.title).toBe('Indexing the archive');
      expect(bar.report.mock.calls).toEqual([[{ message: '1,000 records left', increment: 20 }], [{ message: '10 records left', increment: 70 }]]);
    });

    test('is cancelled at the server by its button', () => {
      drawProgress(connection);
      step({ kind: 'begin', title: 'Indexing the archive' });
      shown().cancel();
      expect(sendNotification).toHaveBeenCalledWith('window/workDoneProgress/cancel', { token: 'a' });
    });

    test('goes with the connection', async () => {
      const remove = drawProgress(connection);
      step({ kind: 'begin', title: 'Indexing the archive' });
      const bar = shown();
      remove();
      await bar.work;
    });
  });
});

describe('errors for users', () => {
  test.each(exampleNames('error.'))('%s is known by its kind and code', (name) => {
    const golden = example(name) as ErrorObject;
    const error = new ResponseError(golden.code, golden.message, golden.data);
    expect(errorKind(error)).toBe(golden.data?.kind);
    expect(Object.entries(errorCodes)).toContainEqual([golden.data?.kind, golden.code]);
    expect(errorText(error)).toBe(golden.message);
    expect(isCancelled(error)).toBe(golden.data?.kind === 'Cancelled');
  });

  test('what is not a refusal has no kind', () => {
    expect(errorKind(new Error('x'))).toBeUndefined();
    expect(errorKind(new ResponseError(-32603, 'x'))).toBeUndefined();
    expect(isCancelled(new CancellationError())).toBe(true);
  });

  test.each([
    ['was not answered', new ResponseError(ErrorCodes.PendingResponseRejected, 'x')],
    ['could not be written', new ResponseError(ErrorCodes.MessageWriteError, 'write EPIPE')],
    ['had no connection any more', new ConnectionError(ConnectionErrors.Closed, 'x')],
  ])('a request that %s because the server ended is lost, and says so in words of its own', (_, error) => {
    expect(isLost(error)).toBe(true);
    expect(errorText(error)).toBe('The server ended before it answered.');
    expect(isLost(new NotConnected('x'))).toBe(true);
    expect(isLost(new ResponseError(ErrorCodes.InternalError, 'x'))).toBe(false);
  });
});

describe('the handshake', () => {
  function server(version: string, methods: readonly string[] = methodNames): ServerIntroduction {
    return { serverInfo: { name: 'ullage', version }, capabilities: { experimental: { ullage: { methods } } } };
  }

  test('a server of the same release with all methods fits, also a newer one with more methods', () => {
    expect(misfit(server('0.1.7'), '0.1.0')).toBeUndefined();
    expect(misfit(server('0.1.0', [...methodNames, 'ullage/new']), '0.1.0')).toBeUndefined();
    expect(misfit(server('2.9.0'), '2.1.0')).toBeUndefined();
  });

  test('a server that lacks a method is too old, whatever its version says', () => {
    const old = methodNames.filter((name) => name !== 'ullage/context/search');
    expect(misfit(server('0.1.0', old), '0.1.0')).toBe(
      'The server is version 0.1.0, which lacks ullage/context/search; this extension (0.1.0) needs a newer one.',
    );
  });

  test('another release before 1.0, or another major version after, does not fit', () => {
    expect(misfit(server('0.2.0'), '0.1.0')).toMatch(/may not fit/);
    expect(misfit(server('2.0.0'), '1.4.0')).toMatch(/may not fit/);
  });

  test('another program is no server of ours', () => {
    expect(misfit({ capabilities: {} }, '0.1.0')).toBe('The program is not an Ullage server.');
    expect(misfit({ capabilities: { experimental: { ullage: { methods: 3 } } } }, '0.1.0')).toBe('The program is not an Ullage server.');
  });
});
