/** The settings that the server gets, of VS Code's settings those that are set, over those of the settings file; and the providers' keys that the user gave to this editor. */
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import * as path from 'node:path';

import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import { errorText } from './connection';
import { settingNames as names } from './protocol.gen';
import { asMessage } from './words';

type Values = Readonly<Record<string, unknown>>;
const settingNames: readonly string[] = names;
type Nested = { [name: string]: unknown };

/** The file's name by which VS Code knows its schema. */
const FILE = 'ullage.settings.json';
/** Whether the user was told that settings have moved to the file. */
const TOLD = 'ullage.toldOfSettingsFile';

/** Returns the values of settings whose names have dots (`context.warnAt`) as nested objects. Unset ones are left out. */
export function nested(names: readonly string[], valueOf: (name: string) => unknown): object {
  const settings: Nested = {};
  for (const name of names) {
    const value = valueOf(name);
    if (value === undefined) continue;
    const parts = name.split('.');
    const last = parts.pop() ?? '';
    const parent = parts.reduce<Nested>((inner, part) => (inner[part] ??= {}) as Nested, settings);
    parent[last] = value;
  }
  return settings;
}

export class Settings implements vscode.Disposable {
  readonly #folder: string;
  readonly #memory: vscode.Memento;
  readonly #subscription: vscode.Disposable;

  /** `folder` is the extension's own, where the file is unless a setting names another. `changed` is called when the user saves it. */
  constructor({ globalStorageUri, globalState }: Pick<vscode.ExtensionContext, 'globalStorageUri' | 'globalState'>, changed: () => void) {
    this.#folder = globalStorageUri.fsPath;
    this.#memory = globalState;
    this.#subscription = vscode.workspace.onDidSaveTextDocument(({ uri }) => { if (uri.fsPath === this.file) changed(); });
  }

  dispose(): void {
    this.#subscription.dispose();
  }

  /** Where the file is, whether it exists or not. */
  get file(): string {
    return configuration().get<string>('settingsFile', '') || path.join(this.#folder, FILE);
  }

  /**
   * Returns the settings as the server reads them: those with a name that it knows. It refuses all settings for the sake of
   * one that it does not know, and so any folder could turn all of a user's off with one. A wrong name in the user's own file
   * is refused, so that the user learns of it.
   */
  read(): object {
    const kept = this.#kept();
    const valueOf = (name: string): unknown => {
      const set = settingNames.includes(name) ? chosen(name) : undefined;
      return set === undefined ? kept[name] : set;
    };
    return nested([...new Set([...settingNames, ...Object.keys(kept)])], valueOf);
  }

  /** Opens the file, and makes it first if it is not there. */
  async open(): Promise<void> {
    if (!existsSync(this.file)) await this.#write({});
    await vscode.window.showTextDocument(vscode.Uri.file(this.file));
  }

  /** Says once of settings that VS Code no longer lists where they are now. They are read where they are. */
  async tell(): Promise<void> {
    const moved = settingNames.filter((name) => isUnlisted(name) && configuration().inspect(name)?.globalValue !== undefined);
    if (moved.length === 0 || this.#memory.get<boolean>(TOLD, false)) return;
    await this.#memory.update(TOLD, true);
    const move = l10n.t('Move them');
    const text = l10n.t('Most settings of Ullage are in a file of their own now. Those that you have set ({0}) still work where they are.', moved.join(', '));
    if ((await vscode.window.showInformationMessage(asMessage(text), move)) !== move) return;
    await this.#write({ ...this.#kept(), ...Object.fromEntries(moved.map((name) => [name, configuration().inspect(name)?.globalValue])) });
    for (const name of moved) await configuration().update(name, undefined, vscode.ConfigurationTarget.Global);
    await this.open();
  }

  #kept(): Values {
    if (!existsSync(this.file)) return {};
    try {
      const found = JSON.parse(readFileSync(this.file, 'utf8')) as unknown;
      if (typeof found === 'object' && found !== null && !Array.isArray(found)) return found as Values;
      throw new Error(l10n.t('It is no object.'));
    } catch (error) {
      void vscode.window.showWarningMessage(asMessage(l10n.t('{0} cannot be read, so its settings are not used: {1}', this.file, errorText(error))));
      return {};
    }
  }

  async #write(values: Values): Promise<void> {
    await mkdir(path.dirname(this.file), { recursive: true });
    await writeFile(this.file, `${JSON.stringify(values, undefined, 2)}\n`);
  }
}

function configuration(): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration('ullage');
}

/** Whether VS Code does not list a setting, and so knows neither its default nor whether a folder may set it. */
function isUnlisted(name: string): boolean {
  return configuration().inspect(name)?.defaultValue === undefined;
}

/** Returns what was set in VS Code's settings, or undefined. A folder that is not trusted sets nothing. */
function chosen(name: string): unknown {
  const found = configuration().inspect(name);
  const values = vscode.workspace.isTrusted ? [found?.workspaceFolderValue, found?.workspaceValue, found?.globalValue] : [found?.globalValue];
  return values.find((value) => value !== undefined);
}

const PREFIX = 'ullage.key.';
const NAMES = 'ullage.keyNames';
/** The variables of the providers that need no settings. */
const USUAL = ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY'];

export class Keys {
  readonly #secrets: vscode.SecretStorage;
  readonly #memory: vscode.Memento;

  constructor({ secrets, globalState }: Pick<vscode.ExtensionContext, 'secrets' | 'globalState'>) {
    this.#secrets = secrets;
    this.#memory = globalState;
  }

  /** The variables for which a key is kept. */
  get names(): readonly string[] {
    return this.#memory.get<string[]>(NAMES, []);
  }

  /** Returns the variables and their keys. */
  async environment(): Promise<Readonly<Record<string, string>>> {
    const found: Record<string, string> = {};
    for (const name of this.names) {
      const key = await this.#secrets.get(PREFIX + name);
      if (key) found[name] = key;
    }
    return found;
  }

  /** Keeps a key, or forgets it if it is empty. */
  async set(name: string, key: string): Promise<void> {
    if (key === '') await this.#secrets.delete(PREFIX + name);
    else await this.#secrets.store(PREFIX + name, key);
    const others = this.names.filter((other) => other !== name);
    await this.#memory.update(NAMES, key === '' ? others : [...others, name]);
  }
}

/** Returns the variables that may hold a key: the usual ones, and those that the settings of providers name. */
export function keyVariables(providers: Readonly<Record<string, { readonly keyEnv?: string }>>): readonly string[] {
  const named = Object.values(providers).map(({ keyEnv = '' }) => keyEnv);
  return [...new Set([...USUAL, ...named.filter((name) => name !== '')])];
}
