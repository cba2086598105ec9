import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type * as vscode from 'vscode';

import { settingNames } from '../../src/protocol.gen';
import { nested, Settings } from '../../src/settings';
import { example, memory, repository } from './support';
import { Disposable, window, workspace } from './vscode';

interface Manifest {
  readonly capabilities: { readonly untrustedWorkspaces: { readonly restrictedConfigurations: readonly string[] } };
  readonly contributes: { readonly configuration: readonly { readonly properties: Readonly<Record<string, unknown>> }[] };
}

const manifest = JSON.parse(readFileSync(path.join(repository, 'editors/vscode/package.json'), 'utf8')) as Manifest;

/** Returns the value of a nested member, by its name with dots. */
function member(value: unknown, name: string): unknown {
  return name.split('.').reduce<unknown>((inner, part) => (inner as Record<string, unknown> | undefined)?.[part], value);
}

test('every setting of the example goes to the server as it was set', () => {
  const settings = example('settings.json');
  expect(nested(settingNames, (name) => member(settings, name))).toEqual(settings);
});

test('a name that a folder makes up is not sent', () => {
  const made: Record<string, unknown> = { 'context.warnAt': 0.7, bogus: 1 };
  expect(nested(settingNames, (name) => made[name])).toEqual({ context: { warnAt: 0.7 } });
});

const listed = manifest.contributes.configuration.flatMap(({ properties }) => Object.keys(properties));

test('what VS Code lists of the settings is restricted to trusted folders, but for what is only shown', () => {
  const { restrictedConfigurations } = manifest.capabilities.untrustedWorkspaces;
  expect(listed.filter((name) => !restrictedConfigurations.includes(name))).toEqual(['ullage.quiet', 'ullage.trace.server']);
  expect(manifest.contributes.configuration.map(({ properties }) => Object.keys(properties).length)).toEqual([9, 7]);
});

interface Set {
  readonly user?: unknown;
  readonly folder?: unknown;
}

/** What users and folders have set, by name. */
let set: Record<string, Set>;
let home: string;
let settings: Settings;
const updates: unknown[] = [];

beforeEach(() => {
  vi.clearAllMocks();
  home = mkdtempSync(path.join(tmpdir(), 'ullage-settings-'));
  [set, updates.length] = [{}, 0];
  vi.spyOn(workspace, 'getConfiguration').mockReturnValue({
    get: (_: string, fallback: unknown) => fallback,
    inspect: (name: string) => ({ key: name, globalValue: set[name]?.user, workspaceValue: set[name]?.folder, ...(listed.includes(`ullage.${name}`) ? { defaultValue: 0 } : {}) }),
    update: (...words: unknown[]) => { updates.push(words); return Promise.resolve(); },
  } as never);
  vi.spyOn(workspace, 'onDidSaveTextDocument').mockReturnValue(new Disposable(vi.fn()));
  trust(true);
  settings = new Settings({ globalStorageUri: { fsPath: home }, globalState: memory() } as unknown as vscode.ExtensionContext, vi.fn());
});
afterEach(() => { rmSync(home, { recursive: true }); });

function trust(is: boolean): void {
  Object.defineProperty(workspace, 'isTrusted', { value: is, configurable: true });
}

function write(text: string): void {
  writeFileSync(settings.file, text);
}

test('what is set in VS Code goes before the file, a folder’s before the user’s, and what is set to nothing is set', () => {
  write('{"context.keepTail": 4000, "context.warnAt": 0.5, "context.keepThinkingTurns": 2, "summary": {"writer": "offline"}}');
  set = { 'context.warnAt': { user: 0.7 }, 'context.clearAt': { user: 0.6, folder: 0.4 }, 'context.keepThinkingTurns': { user: null } };
  expect(settings.read()).toEqual({ context: { keepTail: 4_000, warnAt: 0.7, clearAt: 0.4, keepThinkingTurns: null }, summary: { writer: 'offline' } });
});

test('a folder that is not trusted sets nothing, listed or not', () => {
  trust(false);
  set = { 'hooks.preCompact': { folder: ['rm', '-rf'] }, model: { user: 'mine', folder: 'theirs' } };
  expect(settings.read()).toEqual({ model: 'mine' });
});

test('a file that cannot be read is told of, and used for nothing', () => {
  for (const text of ['{"context.keepTail": ', '[1]']) {
    write(text);
    expect(settings.read()).toEqual({});
  }
  expect(window.showWarningMessage).toHaveBeenCalledTimes(2);
});

test('a wrong name in the file reaches the server, which says so', () => {
  write('{"context.keepTial": 4000}');
  expect(settings.read()).toEqual({ context: { keepTial: 4_000 } });
});

test('of settings that are no longer listed the user is told once, and can have them moved', async () => {
  write('{"context.mode": "drop"}');
  set = { 'context.clearAt': { user: 0.6 }, 'context.warnAt': { user: 0.7 } };
  window.showInformationMessage.mockResolvedValueOnce('Move them');
  await settings.tell();
  await settings.tell();
  expect(window.showInformationMessage).toHaveBeenCalledTimes(1);
  expect(window.showInformationMessage.mock.calls[0]?.[0]).toContain('(context.clearAt)');
  expect(JSON.parse(readFileSync(settings.file, 'utf8'))).toEqual({ 'context.mode': 'drop', 'context.clearAt': 0.6 });
  expect(updates).toEqual([['context.clearAt', undefined, 1]]);
});

test('nobody who has set none of them is told', async () => {
  set = { 'context.warnAt': { user: 0.7 }, 'context.clearAt': { folder: 0.4 } };
  await settings.tell();
  expect(window.showInformationMessage).not.toHaveBeenCalled();
});
