/**
 * The Python environments that the extension makes for itself from the wheels in it: without a network from all that the
 * server needs, or where the extension includes the server's wheel alone, by pip and with the user's consent.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';

import * as l10n from '@vscode/l10n';
import type { LogOutputChannel } from 'vscode';

import { oneLine } from './figures';

/** The oldest Python on which the server runs; the server's wheel states the same. */
const OLDEST_PYTHON = [3, 11] as const;
export const NO_PYTHON = l10n.t("Ullage's server needs Python {0} or newer, and none was found.", OLDEST_PYTHON.join('.'));
/** The packages for asking models. The server counts and compacts without them, so they are installed afterwards. */
const EXTRAS = 'all';
// eslint-disable-next-line texts/untranslated -- a program
const PROBE = 'import sys; print(sys.version_info[0], sys.version_info[1])';
/** Milliseconds after which a program is stopped: far longer than it takes on a slow machine. */
const LIMITS = { probe: 30_000, venv: 300_000, unpack: 300_000, pip: 900_000 } as const;
/** Pip's own limits: seconds without a byte, and attempts. Its defaults make a machine without a network wait for minutes. */
const PIP = ['-m', 'pip', 'install', '--disable-pip-version-check', '--no-input', '--timeout', '20', '--retries', '2'];

/** Thrown if the machine has no Python that is new enough. */
export class NoPython extends Error {}

/** How a program is started. */
export interface Launch {
  readonly command: string;
  readonly words: readonly string[];
}

export class PrivateEnvironment {
  readonly #storage: string;
  readonly #wheel: string | undefined;
  readonly #log: LogOutputChannel;
  readonly #folder: string;
  readonly #bundled: string;

  /** `storage` is a folder of the extension's own, `bundled` the folder with the wheels. */
  constructor(storage: string, bundled: string, log: LogOutputChannel) {
    this.#storage = storage;
    this.#bundled = bundled;
    this.#wheel = findWheel(bundled);
    this.#log = log;
    this.#folder = path.join(storage, this.#wheel ? `server-${contentHash(this.#wheel)}` : 'server-none');
  }

  /** Whether the extension contains a wheel. */
  get isPossible(): boolean {
    return this.#wheel !== undefined;
  }

  /** Whether the extension includes all that the server needs, for the usual Pythons, so that `unpack` needs no network. */
  get isWhole(): boolean {
    return this.#wheel !== undefined && fs.readdirSync(this.#bundled).filter((name) => name.endsWith('.whl')).length > 1;
  }

  /** The server's program: of the environment for this wheel or, until that is complete, of the newest other one. */
  get program(): string {
    return launchIn(this.#used).command;
  }

  /** Returns how the server is started, best first, whether it is there or not: the second one can be unpacked. */
  launches(): readonly [Launch, ...Launch[]] {
    const linked = this.#linkedLaunch();
    return this.isWhole && this.#used !== this.#folder ? [linked, launchIn(this.#folder)] : [linked];
  }

  /** Whether `unpack` makes the environment with this server. */
  isOwn({ command }: Launch): boolean {
    return this.isWhole && (command.startsWith(this.#folder + path.sep) || this.#used === this.#folder);
  }

  /**
   * Returns how the server is started, at a path that stays the same over updates: through a link, which leads to the
   * environment that `program` is of from now on. Agents' settings name the server as it was started, and an update removes
   * the environment of before. Returns that of `program` if there is no environment yet, or no link can be made.
   */
  #linkedLaunch(): Launch {
    const used = this.#used;
    const link = path.join(this.#storage, LINK);
    const launch = launchIn(used);
    if (!fs.existsSync(launch.command)) return launch;
    try {
      if (!leadsTo(link, used)) relink(link, used);
      return launchIn(link);
    } catch (error) {
      this.#log.info(`No link to ${used}: ${String(error)}`);
      return launch;
    }
  }

  /** Whether the environment for this very wheel is complete, and its Python is still there. */
  get isReady(): boolean {
    return isComplete(this.#folder);
  }

  /** Whether the environment of another wheel is used until the one for this wheel is complete. Needs no new consent. */
  get isOutdated(): boolean {
    return this.isPossible && this.#used !== this.#folder;
  }

  /** Whether the environment is complete but for the packages for asking models. */
  get lacksExtras(): boolean {
    return this.isReady && !hasExtras(this.#folder);
  }

  /**
   * Makes the environment. Throws an Error for the user, `NoPython` if there is none. An interrupted environment is made
   * again the next time. Environments for other wheels stay until then.
   */
  async make(pythons: readonly string[], signal: AbortSignal, report: (line: string) => void): Promise<void> {
    if (!this.#wheel) throw new Error(l10n.t('This build of the extension brings no server along; run `{0}` in a checkout of Ullage.', 'pipx install ".[all]"'));
    const [python] = await this.#findPythons(pythons, signal);
    await fs.promises.rm(this.#folder, { recursive: true, force: true });
    await fs.promises.mkdir(this.#storage, { recursive: true });
    report(l10n.t('Making a Python environment…'));
    await this.#run(python, ['-m', 'venv', this.#folder], LIMITS.venv, signal);
    report(l10n.t('Installing the server…'));
    await this.#install(this.#wheel, signal);
    await fs.promises.writeFile(path.join(this.#folder, READY), '');
  }

  /**
   * Makes the environment without a network, if it is not there. Returns whether it is there. Throws `NoPython` if no Python
   * is new enough.
   */
  async unpack(pythons: readonly string[], signal: AbortSignal): Promise<boolean> {
    const isMade = (): boolean => this.isReady;
    if (isMade() || !this.isWhole) return isMade();
    const script = path.join(path.dirname(this.#bundled), 'server', 'make_environment.py');
    await fs.promises.rm(this.#folder, { recursive: true, force: true });
    await fs.promises.mkdir(this.#storage, { recursive: true });
    for (const python of await this.#findPythons(pythons, signal)) {
      const said = this.#run(python, ['-I', script, this.#bundled, this.#folder], LIMITS.unpack, signal);
      await said.catch((error: unknown) => { this.#log.info(`${python} does not do: ${String(error)}`); });
      signal.throwIfAborted();
      if (isMade()) return true;
    }
    return false;
  }

  /** Adds the packages for asking models. Throws an Error for the user. */
  async addExtras(signal: AbortSignal): Promise<void> {
    if (!this.#wheel) return;
    await this.#providePip(signal);
    await this.#install(`${this.#wheel}[${EXTRAS}]`, signal);
    await fs.promises.writeFile(path.join(this.#folder, COMPLETE), '');
  }

  /** Makes the environment for this wheel as complete as the one that is used. Throws an Error for the user. */
  async renew(pythons: readonly string[], signal: AbortSignal, report: (line: string) => void): Promise<void> {
    const asksModels = hasExtras(this.#used);
    if (!(await this.unpack(pythons, signal))) await this.make(pythons, signal, report);
    if (!asksModels) return;
    report(l10n.t('Fetching what asks models…'));
    await this.addExtras(signal);
  }

  /** Has the environment for this wheel made again, because its server does not start. */
  async discard(): Promise<void> {
    await fs.promises.rm(path.join(this.#folder, READY), { force: true });
  }

  /** Removes the environments for other wheels, once the one for this wheel is as complete. */
  async removeOthers(): Promise<void> {
    if (!this.isReady || this.isOutdated) return;
    await Promise.all(this.#others().map((folder) => fs.promises.rm(folder, { recursive: true, force: true })));
  }

  /** The environment for this wheel or, until that is as complete, the newest other one. */
  get #used(): string {
    const others = this.#others();
    // One that can ask models is kept until the one for this wheel can.
    const kept = hasExtras(this.#folder) ? undefined : others.find(hasExtras);
    return kept ?? (this.isReady || this.isWhole ? this.#folder : (others[0] ?? this.#folder));
  }

  /** Returns the complete environments for other wheels, newest first. */
  #others(): readonly string[] {
    if (!fs.existsSync(this.#storage)) return [];
    const names = fs.readdirSync(this.#storage).filter((name) => !name.startsWith(LINK) && !IN_THE_MAKING.test(name));
    const folders = names.map((name) => path.join(this.#storage, name));
    const made = folders
      .filter((folder) => folder !== this.#folder && isComplete(folder))
      .map((folder) => ({ folder, at: fs.statSync(path.join(folder, READY)).mtimeMs }));
    return made.sort((a, b) => b.at - a.at).map(({ folder }) => folder);
  }

  /** Whether one of the Pythons is new enough. */
  async hasPython(pythons: readonly string[]): Promise<boolean> {
    return this.#findPythons(pythons, new AbortController().signal).then(() => true, () => false);
  }

  /** Returns the Pythons that are new enough, in the order of the candidates. Throws `NoPython` if there is none. */
  async #findPythons(candidates: readonly string[], signal: AbortSignal): Promise<readonly [string, ...string[]]> {
    const asked = candidates.map(async (python) => {
      const version = await this.#run(python, ['-c', PROBE], LIMITS.probe, signal).catch(() => '');
      const [major = 0, minor = 0] = version.trim().split(' ').map(Number);
      return major === OLDEST_PYTHON[0] && minor >= OLDEST_PYTHON[1] ? [python] : [];
    });
    const [first, ...others] = (await Promise.all(asked)).flat();
    signal.throwIfAborted();
    if (first !== undefined) return [first, ...others];
    throw new NoPython(NO_PYTHON);
  }

  /** An environment that was unpacked has no pip. Throws an Error for the user. */
  async #providePip(signal: AbortSignal): Promise<void> {
    const python = pythonIn(this.#folder);
    const isThere = await this.#run(python, ['-m', 'pip', '--version'], LIMITS.probe, signal).then(() => true, () => false);
    signal.throwIfAborted();
    if (isThere) return;
    try {
      await this.#run(python, ['-m', 'ensurepip'], LIMITS.venv, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw new Error(l10n.t('This Python brings no pip, which fetches what asks models. On Debian and Ubuntu, install python3-venv.'), { cause: error });
    }
  }

  async #install(what: string, signal: AbortSignal): Promise<void> {
    const python = pythonIn(this.#folder);
    try {
      await this.#run(python, [...PIP, what], LIMITS.pip, signal);
    } catch (error) {
      signal.throwIfAborted();
      const said = oneLine(error instanceof Error ? error.message : String(error), 200);
      throw new Error(l10n.t('The packages that the server needs could not be fetched. Is there a network, and does pip know its proxy? Pip said: {0}', said), { cause: error });
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
        if (error?.killed && !signal.aborted) reject(new Error(l10n.t('{0} took longer than {1} s', path.basename(command), timeout / 1_000)));
        else if (error) reject(new Error(lastLine(stderr || stdout) ?? error.message));
        else resolve(stdout);
      });
    });
  }
}

// eslint-disable-next-line texts/untranslated -- a folder
const BIN = process.platform === 'win32' ? 'Scripts' : 'bin';
/** Files that mark an environment in which the server runs, and one that has the packages for asking models, too. */
const READY = 'ready';
const COMPLETE = 'complete';

/** The name of the link to the environment in use. No environment's name begins with it. */
const LINK = 'current';

/** The name of an environment while a process makes it. */
const IN_THE_MAKING = /\.\d+$/;

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

/** Whether an environment was made to its end, and its Python is still there: an update of the system may remove that. */
function isComplete(folder: string): boolean {
  return fs.existsSync(path.join(folder, READY)) && fs.existsSync(pythonIn(folder));
}

/** Whether an environment has the packages for asking models. */
function hasExtras(folder: string): boolean {
  return isComplete(folder) && fs.existsSync(path.join(folder, COMPLETE));
}

function pythonIn(folder: string): string {
  return path.join(folder, BIN, process.platform === 'win32' ? 'python.exe' : 'python');
}

/** On Windows only pip makes a program; without one, Python runs the module, and none of the folder that is open (`-P`). */
function launchIn(folder: string): Launch {
  const program = path.join(folder, BIN, process.platform === 'win32' ? 'ullage.exe' : 'ullage');
  const isModule = process.platform === 'win32' && !fs.existsSync(program) && isComplete(folder);
  return isModule ? { command: pythonIn(folder), words: ['-P', '-m', 'ullage'] } : { command: program, words: [] };
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
