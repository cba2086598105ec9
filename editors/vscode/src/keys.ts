/** Providers' keys that the user gave to this editor. They are kept by the operating system, by way of VS Code, and given to the server as environment variables. */
import * as vscode from 'vscode';

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
