/** The live file, which the process that follows the agents' conversations writes next to the store. It is only read. */
import { watch, type FSWatcher } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';


import type { FollowedConversation } from '../protocol.gen';

/** Milliseconds between two looks. A change is heard of at once where the system tells of it. */
const EVERY = 2_000;
const VERSION = 1;
/** A field that files of versions before this one lack. Their rows are not enough for what is shown here. */
const NEEDED = 'nearness';

/** What is read of the file: the process that writes it, and its rows. */
export interface Live {
  readonly writer: number;
  readonly rows: readonly FollowedConversation[];
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the live file of the store that the server has: that of the environment, else of the setting, else its own. */
export function liveFile(platform: string, home: string, environment: Environment, setting = ''): string {
  const store = environment['ULLAGE_STORE'] || setting;
  const data = path.join(dataFolder(platform, home, environment), 'ullage');
  if (!store) return path.join(data, 'sessions.db.live.json');
  if (/^postgres(ql)?:\/\//.test(store)) return path.join(data, `${localName(store)}.live.json`);
  return `${store.replace(/^~(?=\/|$)/, home)}.live.json`;
}

/** The server's rule: `_` for each byte of an address that not every file system has in names. */
function localName(address: string): string {
  return Buffer.from(address).toString('latin1').replace(/[^A-Za-z0-9._-]/g, '_');
}

/** As Python's platformdirs names it. */
function dataFolder(platform: string, home: string, environment: Environment): string {
  const named = environment['XDG_DATA_HOME'];
  if (platform === 'win32') return environment['LOCALAPPDATA'] || path.join(home, 'AppData', 'Local');
  if (named && path.isAbsolute(named)) return named;
  return platform === 'darwin' ? path.join(home, 'Library', 'Application Support') : path.join(home, '.local', 'share');
}

/** Returns what the file's text says, or undefined if it cannot be read, is of another version or has lost its writer. */
export function parse(text: string, isRunning: (writer: number) => boolean): Live | undefined {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { version, follower, sessions } = (found ?? {}) as { version?: unknown; follower?: unknown; sessions?: unknown };
  if (version !== VERSION || typeof follower !== 'number' || !Array.isArray(sessions) || !isRunning(follower)) return undefined;
  const rows = sessions as readonly Readonly<Record<string, unknown>>[];
  return rows.every((row) => NEEDED in row) ? { writer: follower, rows: rows.map(asWire) } : undefined;
}

/** Returns a row as the server sends it: the file has the same fields in snake case. */
function asWire(row: Readonly<Record<string, unknown>>): FollowedConversation {
  const entries = Object.entries(row).map(([name, value]) => [name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()), value]);
  return Object.fromEntries(entries) as FollowedConversation;
}

/** Whether a process is there. One of another user is. */
export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Reads the file whenever it changes, from `start` to `stop`. */
export class LiveFile {
  readonly #path: string;
  #watcher: FSWatcher | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(setting: string) {
    this.#path = liveFile(process.platform, homedir(), process.env, setting);
  }

  async read(): Promise<Live | undefined> {
    const text = await readFile(this.#path, 'utf8').catch(() => '');
    return parse(text, isRunning);
  }

  /** Calls `changed` when the file may have changed. The folder is watched, because the file is replaced at each change. */
  start(changed: () => void): void {
    if (this.#timer) return;
    this.#timer = setInterval(changed, EVERY);
    try {
      const name = path.basename(this.#path);
      this.#watcher = watch(path.dirname(this.#path), (_, file) => { if (file === null || file === name) changed(); });
      this.#watcher.on('error', () => { this.#watcher?.close(); });
    } catch {
      // Where the folder cannot be watched the timer does it.
    }
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#watcher?.close();
    this.#watcher = undefined;
  }
}
