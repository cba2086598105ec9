/** The Python environments that the extension makes for itself, with the user's consent, from the wheel in the extension. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';

import type { LogOutputChannel } from 'vscode';

import { oneLine } from './figures';

/** The oldest Python on which the server runs; the server's wheel states the same. */
const OLDEST_PYTHON = [3, 11] as const;
/** The packages for asking models. The server counts and compacts without them, so they are installed afterwards. */
const EXTRAS = 'all';
const PROBE = 'import sys, venv; print(sys.version_info[0], sys.version_info[1])';
/** Milliseconds after which a program is stopped: far longer than it takes on a slow machine. */
const LIMITS = { probe: 30_000, venv: 300_000, pip: 900_000 } as const;
/** Pip's own limits: seconds without a byte, and attempts. Its defaults make a machine without a network wait for minutes. */
const PIP = ['-m', 'pip', 'install', '--disable-pip-version-check', '--no-input', '--timeout', '20', '--retries', '2'];

/** Thrown if the machine has no Python that is new enough. */
export class NoPython extends Error {}

export class PrivateEnvironment {
  readonly #storage: string;
  readonly #wheel: string | undefined;
  readonly #log: LogOutputChannel;
  readonly #folder: string;

  /** `storage` is a folder of the extension's own, `bundled` the folder with the wheel. */
  constructor(storage: string, bundled: string, log: LogOutputChannel) {
    this.#storage = storage;
    this.#wheel = findWheel(bundled);
    this.#log = log;
    this.#folder = path.join(storage, this.#wheel ? `server-${contentHash(this.#wheel)}` : 'server-none');
  }

  /** Whether the extension contains a wheel. */
  get isPossible(): boolean {
    return this.#wheel !== undefined;
  }

  /** The server's program: of the environment for this wheel or, until that is complete, of the newest other one. */
  get program(): string {
    return programIn(this.#used);
  }

  /**
   * Returns the server's program at a path that stays the same over updates: through a link, which leads to the environment
   * that `program` is of from now on. Agents' settings name the server as it was started, and an update removes the
   * environment of before. Returns `program` if there is no environment yet, or no link can be made.
   */
  linkedProgram(): string {
    const used = this.#used;
    const link = path.join(this.#storage, LINK);
    if (!fs.existsSync(programIn(used))) return programIn(used);
    try {
      if (!leadsTo(link, used)) relink(link, used);
      return programIn(link);
    } catch (error) {
      this.#log.info(`No link to ${used}: ${String(error)}`);
      return programIn(used);
    }
  }

  /** Whether the environment for this very wheel is complete. */
  get isReady(): boolean {
    return fs.existsSync(path.join(this.#folder, READY));
  }

  /** Whether an environment was made for another wheel, so that the user has given consent and it can be used until then. */
  get isOutdated(): boolean {
    return this.isPossible && !this.isReady && this.#others().length > 0;
  }

  /** Whether the environment is complete but for the packages for asking models. */
  get lacksExtras(): boolean {
    return this.isReady && !fs.existsSync(path.join(this.#folder, COMPLETE));
  }

  /**
   * Makes the environment. Throws an Error for the user, `NoPython` if there is none. An interrupted environment is made
   * again the next time. Environments for other wheels stay until then.
   */
  async make(pythons: readonly string[], signal: AbortSignal, report: (line: string) => void): Promise<void> {
    if (!this.#wheel) throw new Error('This build of the extension brings no server along; run `pipx install ".[all]"` in a checkout of Ullage.');
    const python = await this.#findPython(pythons, signal);
    await fs.promises.rm(this.#folder, { recursive: true, force: true });
    await fs.promises.mkdir(this.#storage, { recursive: true });
    report('Making a Python environment…');
    await this.#run(python, ['-m', 'venv', this.#folder], LIMITS.venv, signal);
    report('Installing the server…');
    await this.#install(this.#wheel, signal);
    await fs.promises.writeFile(path.join(this.#folder, READY), '');
  }

  /** Adds the packages for asking models. Throws an Error for the user. */
  async addExtras(signal: AbortSignal): Promise<void> {
    if (!this.#wheel) return;
    await this.#install(`${this.#wheel}[${EXTRAS}]`, signal);
    await fs.promises.writeFile(path.join(this.#folder, COMPLETE), '');
  }

  /** Removes the environments for other wheels, once the one for this wheel is complete. */
  async removeOthers(): Promise<void> {
    if (!this.isReady) return;
    await Promise.all(this.#others().map((folder) => fs.promises.rm(folder, { recursive: true, force: true })));
  }

  /** The environment for this wheel or, until that is complete, the newest other one. */
  get #used(): string {
    return this.isReady ? this.#folder : (this.#others()[0] ?? this.#folder);
  }

  /** Returns the complete environments for other wheels, newest first. */
  #others(): readonly string[] {
    if (!fs.existsSync(this.#storage)) return [];
    const names = fs.readdirSync(this.#storage).filter((name) => !name.startsWith(LINK));
    const folders = names.map((name) => path.join(this.#storage, name));
    const made = folders
      .filter((folder) => folder !== this.#folder && fs.existsSync(path.join(folder, READY)))
      .map((folder) => ({ folder, at: fs.statSync(path.join(folder, READY)).mtimeMs }));
    return made.sort((a, b) => b.at - a.at).map(({ folder }) => folder);
  }

  async #findPython(candidates: readonly string[], signal: AbortSignal): Promise<string> {
    for (const python of candidates) {
      const version = await this.#run(python, ['-c', PROBE], LIMITS.probe, signal).catch(() => '');
      const [major = 0, minor = 0] = version.trim().split(' ').map(Number);
      if (major === OLDEST_PYTHON[0] && minor >= OLDEST_PYTHON[1]) return python;
      signal.throwIfAborted();
    }
    const oldest = OLDEST_PYTHON.join('.');
    throw new NoPython(`Ullage's server needs Python ${oldest} or newer, and none was found. Install one, or say where it is.`);
  }

  async #install(what: string, signal: AbortSignal): Promise<void> {
    const python = path.join(this.#folder, BIN, process.platform === 'win32' ? 'python.exe' : 'python');
    try {
      await this.#run(python, [...PIP, what], LIMITS.pip, signal);
    } catch (error) {
      signal.throwIfAborted();
      const said = oneLine(error instanceof Error ? error.message : String(error), 200);
      throw new Error(`The packages that the server needs could not be fetched. Is there a network, and does pip know its proxy? Pip said: ${said}`, { cause: error });
    }
  }

  /** Runs in the extension's own folder, so that no program of the open folder is run. */
  #run(command: string, args: readonly string[], timeout: number, signal: AbortSignal): Promise<string> {
    this.#log.info(`$ ${command} ${args.join(' ')}`);
    const cwd = fs.existsSync(this.#storage) ? this.#storage : path.dirname(this.#storage);
    return new Promise((resolve, reject) => {
      execFile(command, args, { cwd: fs.existsSync(cwd) ? cwd : undefined, signal, timeout }, (error, stdout, stderr) => {
        if (stdout) this.#log.info(stdout.trimEnd());
        if (stderr) this.#log.info(stderr.trimEnd());
        if (error?.killed && !signal.aborted) reject(new Error(`${path.basename(command)} took longer than ${timeout / 1_000} s`));
        else if (error) reject(new Error(lastLine(stderr || stdout) ?? error.message));
        else resolve(stdout);
      });
    });
  }
}

const BIN = process.platform === 'win32' ? 'Scripts' : 'bin';
/** Files that mark an environment in which the server runs, and one that has the packages for asking models, too. */
const READY = 'ready';
const COMPLETE = 'complete';

/** The name of the link to the environment in use. No environment's name begins with it. */
const LINK = 'current';

function leadsTo(link: string, folder: string): boolean {
  return fs.existsSync(link) && fs.realpathSync(link) === fs.realpathSync(folder);
}

/** Makes a link to a folder, in place of the one of before. Throws an Error. */
function relink(link: string, folder: string): void {
  // Several windows may do this at once: each makes a link of its own, and the last one stays.
  const made = `${link}-${process.pid}`;
  removeLink(made);
  // Windows allows every user a junction, but not every user a symbolic link. Elsewhere the kind is ignored.
  fs.symlinkSync(folder, made, 'junction');
  // Windows renames no folder, which a junction is, to a name that is taken.
  if (process.platform === 'win32') removeLink(link);
  fs.renameSync(made, link);
}

/** Removes a link, if it is there, and nothing that it leads to. */
function removeLink(link: string): void {
  if (fs.lstatSync(link, { throwIfNoEntry: false })) fs.unlinkSync(link);
}

function programIn(folder: string): string {
  return path.join(folder, BIN, process.platform === 'win32' ? 'ullage.exe' : 'ullage');
}

function findWheel(folder: string): string | undefined {
  if (!fs.existsSync(folder)) return undefined;
  const wheel = fs.readdirSync(folder).find((name) => /^ullage-.*\.whl$/.test(name));
  return wheel && path.join(folder, wheel);
}

/** The content decides, not the name: builds of one version have one name. */
function contentHash(file: string): string {
  return createHash('sha256').update(fs.readFileSync(file)).digest('hex').slice(0, 16);
}

function lastLine(output: string): string | undefined {
  return output.trim().split('\n').at(-1) || undefined;
}
