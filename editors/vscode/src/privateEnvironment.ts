/** The Python environment that the extension makes for itself, with the user's consent, from the wheel in the extension. */
import { execFile } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';

import type { LogOutputChannel } from 'vscode';

/** The oldest Python on which the server runs; the server's wheel states the same. */
const OLDEST_PYTHON = [3, 11] as const;
/** What the server's users may set a key for. Left out, a key would only get them an error that names a package. */
const EXTRAS = 'all';
const PROBE = 'import sys, venv; print(sys.version_info[0], sys.version_info[1])';

export class PrivateEnvironment {
  readonly #storage: string;
  readonly #wheel: string | undefined;
  readonly #log: LogOutputChannel;

  /** `storage` is a folder of the extension's own, `bundled` the folder with the wheel. */
  constructor(storage: string, bundled: string, log: LogOutputChannel) {
    this.#storage = storage;
    this.#wheel = findWheel(bundled);
    this.#log = log;
  }

  /** Whether the extension contains a wheel. */
  get isPossible(): boolean {
    return this.#wheel !== undefined;
  }

  /** The server's program in the environment for this wheel. */
  get program(): string {
    const name = process.platform === 'win32' ? 'ullage.exe' : 'ullage';
    return path.join(this.#folder, BIN, name);
  }

  /** Whether the environment for this version of the wheel is complete. */
  get isReady(): boolean {
    return fs.existsSync(this.#marker);
  }

  /** Whether an environment was made for an earlier wheel, so that the user has given consent. */
  get isOutdated(): boolean {
    return !this.isReady && this.#environments().length > 0;
  }

  /** Makes the environment. Throws an Error for the user. An interrupted environment is made again the next time. */
  async make(pythons: readonly string[], signal: AbortSignal, report: (line: string) => void): Promise<void> {
    if (!this.#wheel) throw new Error('This build of the extension brings no server along; run `pipx install ".[all]"` in a checkout of Ullage.');
    const python = await this.#findPython(pythons, signal);
    await fs.promises.rm(this.#folder, { recursive: true, force: true });
    await fs.promises.mkdir(this.#storage, { recursive: true });
    report('Making a Python environment…');
    await this.#run(python, ['-m', 'venv', this.#folder], signal);
    report('Installing the server and what it needs…');
    const inside = path.join(this.#folder, BIN, process.platform === 'win32' ? 'python.exe' : 'python');
    await this.#run(inside, ['-m', 'pip', 'install', '--disable-pip-version-check', '--no-input', `${this.#wheel}[${EXTRAS}]`], signal);
    await fs.promises.writeFile(this.#marker, '');
    await this.#removeOthers();
  }

  get #folder(): string {
    return path.join(this.#storage, this.#wheel ? `server-${path.basename(this.#wheel, '.whl')}` : 'server-none');
  }

  get #marker(): string {
    return path.join(this.#folder, 'ready');
  }

  #environments(): readonly string[] {
    if (!fs.existsSync(this.#storage)) return [];
    return fs.readdirSync(this.#storage).filter((name) => fs.existsSync(path.join(this.#storage, name, 'ready')));
  }

  async #removeOthers(): Promise<void> {
    const own = path.basename(this.#folder);
    const others = this.#environments().filter((name) => name !== own);
    await Promise.all(others.map((name) => fs.promises.rm(path.join(this.#storage, name), { recursive: true, force: true })));
  }

  async #findPython(candidates: readonly string[], signal: AbortSignal): Promise<string> {
    for (const python of candidates) {
      const version = await this.#run(python, ['-c', PROBE], signal).catch(() => '');
      const [major = 0, minor = 0] = version.trim().split(' ').map(Number);
      if (major === OLDEST_PYTHON[0] && minor >= OLDEST_PYTHON[1]) return python;
      signal.throwIfAborted();
    }
    throw new Error(`No Python ${OLDEST_PYTHON.join('.')} or newer was found; install one, or set ullage.server.path.`);
  }

  /** Runs in the extension's own folder, so that no program of the open folder is run. */
  #run(command: string, args: readonly string[], signal: AbortSignal): Promise<string> {
    this.#log.info(`$ ${command} ${args.join(' ')}`);
    const cwd = fs.existsSync(this.#storage) ? this.#storage : path.dirname(this.#storage);
    return new Promise((resolve, reject) => {
      execFile(command, args, { cwd: fs.existsSync(cwd) ? cwd : undefined, signal }, (error, stdout, stderr) => {
        if (stdout) this.#log.info(stdout.trimEnd());
        if (stderr) this.#log.info(stderr.trimEnd());
        if (error) reject(new Error(lastLine(stderr || stdout) ?? error.message));
        else resolve(stdout);
      });
    });
  }
}

const BIN = process.platform === 'win32' ? 'Scripts' : 'bin';

function findWheel(folder: string): string | undefined {
  if (!fs.existsSync(folder)) return undefined;
  const wheel = fs.readdirSync(folder).find((name) => /^ullage-.*\.whl$/.test(name));
  return wheel && path.join(folder, wheel);
}

function lastLine(output: string): string | undefined {
  return output.trim().split('\n').at(-1) || undefined;
}
