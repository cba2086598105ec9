/**
 * Finds the server's program: the user's, the one in the extension, or one that is made in a Python environment of the
 * extension's own, by pip and with the user's consent.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';

import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import type { LogOutputChannel } from 'vscode';

import { oneLine } from './words';

/** The oldest Python on which the server runs; the server's wheel states the same. */
const OLDEST_PYTHON = [3, 11] as const;
export const NO_PYTHON = l10n.t("Ullage's server needs Python {0} or newer, and none was found.", OLDEST_PYTHON.join('.'));
/** The packages for asking models. The server counts and compacts without them, so they are installed afterwards. */
const EXTRAS = 'all';
// eslint-disable-next-line texts/untranslated -- a program
const PROBE = 'import sys; print(sys.version_info[0], sys.version_info[1])';
/** Milliseconds after which a program is stopped: far longer than it takes on a slow machine. */
const LIMITS = { probe: 30_000, venv: 300_000, pip: 900_000 } as const;
/** Pip's own limits: seconds without a byte, and attempts. Its defaults make a machine without a network wait for minutes. */
const PIP = ['-m', 'pip', 'install', '--disable-pip-version-check', '--no-input', '--timeout', '20', '--retries', '2'];

/** Thrown if the machine has no Python that is new enough. */
export class NoPython extends Error {}

/** How a program is started. */
export interface Launch {
  readonly command: string;
  readonly words: readonly string[];
}

/**
 * The server that the extension brings along: a program for this platform, or else a Python environment that pip makes of
 * the server's wheel. The environment is also what asks models by a key: the program has no packages for that.
 */
export class OwnServer {
  readonly #storage: string;
  readonly #wheel: string | undefined;
  readonly #log: LogOutputChannel;
  /** The environment for this wheel. */
  readonly #folder: string;
  /** The program's folder, which is laid out as an environment. */
  readonly #packed: string;

  /** `storage` is a folder of the extension's own, `bundled` the folder with the wheel and the program. */
  constructor(storage: string, bundled: string, log: LogOutputChannel) {
    this.#storage = storage;
    this.#wheel = findWheel(bundled);
    this.#log = log;
    this.#folder = path.join(storage, this.#wheel ? `server-${contentHash(this.#wheel)}` : 'server-none');
    this.#packed = path.join(bundled, 'program');
  }

  /** Whether the extension contains a wheel, of which an environment can be made. */
  get isPossible(): boolean {
    return this.#wheel !== undefined;
  }

  /** Whether the extension includes the server as a program. */
  get hasProgram(): boolean {
    return fs.existsSync(launchIn(this.#packed).command);
  }

  /** The server's program: of the environment for this wheel, of the extension or, until there is one, of the newest other environment. */
  get program(): string {
    return launchIn(this.#used).command;
  }

  /** Returns how the server is started, best first: the program is tried, too, where an environment of before asks models. */
  launches(): readonly [Launch, ...Launch[]] {
    const linked = this.#linkedLaunch();
    return this.hasProgram && this.#used !== this.#packed ? [linked, launchIn(this.#packed)] : [linked];
  }

  /**
   * Returns how the server is started, at a path that stays the same over updates: through a link, which leads to the folder
   * that `program` is of from now on. Agents' settings name the server as it was started, and an update removes the folder
   * of before. Returns `program` if it is not there yet, or no link can be made.
   */
  #linkedLaunch(): Launch {
    const used = this.#used;
    const link = path.join(this.#storage, LINK);
    const launch = launchIn(used);
    if (!fs.existsSync(launch.command)) return launch;
    try {
      fs.mkdirSync(this.#storage, { recursive: true });
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
    return this.isPossible && ![this.#folder, this.#packed].includes(this.#used);
  }

  /** Whether there is a server, and not the packages for asking models, which can be fetched. */
  get lacksExtras(): boolean {
    return this.isPossible && (this.hasProgram || this.isReady) && !hasExtras(this.#folder);
  }

  /**
   * Makes the environment. Throws an Error for the user, `NoPython` if there is none. An interrupted environment is made
   * again the next time. Environments for other wheels stay until then.
   */
  async make(pythons: readonly string[], signal: AbortSignal, report: (line: string) => void): Promise<void> {
    if (!this.#wheel) throw new Error(l10n.t('This build of the extension brings no server along; run `{0}` in a checkout of Ullage.', 'pipx install ".[all]"'));
    const python = await this.#findPython(pythons, signal);
    await fs.promises.rm(this.#folder, { recursive: true, force: true });
    await fs.promises.mkdir(this.#storage, { recursive: true });
    report(l10n.t('Making a Python environment…'));
    await this.#run(python, ['-m', 'venv', this.#folder], LIMITS.venv, signal);
    report(l10n.t('Installing the server…'));
    await this.#install(this.#wheel, signal);
    await fs.promises.writeFile(path.join(this.#folder, READY), '');
  }

  /** Adds the packages for asking models to the environment, which is made if there is none. Throws an Error for the user. */
  async addExtras(pythons: readonly string[], signal: AbortSignal, report: (line: string) => void): Promise<void> {
    if (!this.#wheel) return;
    if (!this.isReady) await this.make(pythons, signal, report);
    report(l10n.t('Fetching what asks models…'));
    await this.#install(`${this.#wheel}[${EXTRAS}]`, signal);
    await fs.promises.writeFile(path.join(this.#folder, COMPLETE), '');
  }

  /** Makes the environment for this wheel as complete as the one that is used. Throws an Error for the user. */
  async renew(pythons: readonly string[], signal: AbortSignal, report: (line: string) => void): Promise<void> {
    if (hasExtras(this.#used)) await this.addExtras(pythons, signal, report);
    else await this.make(pythons, signal, report);
  }

  /** Removes the environments for other wheels, once they are not used any more. */
  async removeOthers(): Promise<void> {
    if (this.isOutdated || !(this.isReady || this.hasProgram)) return;
    await Promise.all(this.#others().map((folder) => fs.promises.rm(folder, { recursive: true, force: true })));
  }

  /** An environment that asks models, else the one for this wheel, else the program, else the newest other environment. */
  get #used(): string {
    const others = this.#others();
    const asking = [this.#folder, ...others].find(hasExtras);
    return asking ?? (this.isReady ? this.#folder : this.hasProgram ? this.#packed : (others[0] ?? this.#folder));
  }

  /** Returns the complete environments for other wheels, newest first. */
  #others(): readonly string[] {
    if (!fs.existsSync(this.#storage)) return [];
    const folders = fs.readdirSync(this.#storage).filter((name) => !name.startsWith(LINK)).map((name) => path.join(this.#storage, name));
    const made = folders
      .filter((folder) => folder !== this.#folder && isComplete(folder))
      .map((folder) => ({ folder, at: fs.statSync(path.join(folder, READY)).mtimeMs }));
    return made.sort((a, b) => b.at - a.at).map(({ folder }) => folder);
  }

  /** Whether one of the Pythons is new enough. */
  async hasPython(pythons: readonly string[]): Promise<boolean> {
    return this.#findPython(pythons, new AbortController().signal).then(() => true, () => false);
  }

  /** Returns the first of the candidates that is new enough. Throws `NoPython` if none is. */
  async #findPython(candidates: readonly string[], signal: AbortSignal): Promise<string> {
    const asked = candidates.map(async (python) => {
      const version = await this.#run(python, ['-c', PROBE], LIMITS.probe, signal).catch(() => '');
      const [major = 0, minor = 0] = version.trim().split(' ').map(Number);
      return major === OLDEST_PYTHON[0] && minor >= OLDEST_PYTHON[1] ? [python] : [];
    });
    const [first] = (await Promise.all(asked)).flat();
    signal.throwIfAborted();
    if (first !== undefined) return first;
    throw new NoPython(NO_PYTHON);
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

/** The part of `ms-python.python`'s public API that is used here. */
interface PythonApi {
  readonly environments?: {
    getActiveEnvironmentPath(): { readonly path: string };
    readonly onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

/** Returns the interpreter chosen in the editor, or undefined without the Python extension. */
export async function activeInterpreter(): Promise<string | undefined> {
  const extension = vscode.extensions.getExtension<PythonApi | undefined>('ms-python.python');
  const api = await extension?.activate();
  const chosen = api?.environments?.getActiveEnvironmentPath().path;
  return chosen && path.isAbsolute(chosen) ? chosen : undefined;
}

/** Returns interpreters to make an environment with, best first. */
export function interpreters(active: string | undefined): readonly string[] {
  const usual = process.platform === 'win32' ? ['py', 'python'] : ['python3', 'python'];
  const named = ['python3.14', 'python3.13', 'python3.12', 'python3.11'];
  return [...(active ? [active] : []), ...usual, ...named, ...placesOfPython(process.platform, process.env)];
}

/** A program that installs Python for the user alone, without questions. */
export interface Way {
  /** The button's title. */
  readonly title: string;
  readonly program: string;
  readonly words: readonly string[];
}

/** Where Python is described and downloaded by hand. */
export const PYTHON_PAGE = 'https://www.python.org/downloads/';
/** The Python that is installed. The extension includes wheels for it. */
const VERSION = '3.13';

/** Returns the way to a Python on this machine, or undefined if it has no program for that. */
export function wayToPython(platform: NodeJS.Platform, has: (program: string) => boolean): Way | undefined {
  const ways: readonly (Way & { readonly on: readonly NodeJS.Platform[] })[] = [
    { on: [platform], title: l10n.t('Install it with {0}', 'uv'), program: 'uv', words: ['python', 'install', VERSION] },
    { on: ['win32'], title: l10n.t('Install it with {0}', 'winget'), program: 'winget', words: ['install', '--exact', '--id', `Python.Python.${VERSION}`, '--scope', 'user'] },
    { on: ['darwin'], title: l10n.t('Install it with {0}', 'Homebrew'), program: 'brew', words: ['install', `python@${VERSION}`] },
  ];
  const way = ways.find(({ on, program }) => on.includes(platform) && has(program));
  return way && { title: way.title, program: way.program, words: way.words };
}

/** Returns where these ways put Python. The editor's `PATH` is the one with which it was started, so it may lack them. */
export function placesOfPython(platform: NodeJS.Platform, environment: Readonly<Record<string, string | undefined>>): readonly string[] {
  const { HOME: home, USERPROFILE: profile, LOCALAPPDATA: local } = environment;
  if (platform === 'win32') {
    const installed = local ? [`${local}\\Programs\\Python\\Python${VERSION.replace('.', '')}\\python.exe`] : [];
    return [...installed, ...(profile ? [`${profile}\\.local\\bin\\python${VERSION}.exe`] : [])];
  }
  const brewed = platform === 'darwin' ? [`/opt/homebrew/bin/python${VERSION}`, `/usr/local/bin/python${VERSION}`] : [];
  return [...brewed, ...(home ? [`${home}/.local/bin/python${VERSION}`] : [])];
}

type Work = (signal: AbortSignal, report: (message: string) => void) => Promise<void>;

export class ServerLocator {
  /** The server that the extension brings along. */
  readonly own: OwnServer;
  readonly #log: vscode.LogOutputChannel;

  constructor(context: vscode.ExtensionContext, log: vscode.LogOutputChannel) {
    this.own = new OwnServer(context.globalStorageUri.fsPath, path.join(context.extensionPath, 'bundled'), log);
    this.#log = log;
  }

  /** Returns the programs to try, best first. */
  async find(): Promise<Places> {
    const trusted = vscode.workspace.isTrusted;
    const active = trusted ? await activeInterpreter() : undefined;
    const own = this.own;
    const lacksPython = own.isPossible && !own.isReady && !own.hasProgram && !(await own.hasPython(await this.#pythons()));
    const places = locate({
      setting: vscode.workspace.getConfiguration('ullage').get<string>('server.path', ''),
      environment: process.env,
      pythonFolders: active ? [path.dirname(active)] : [],
      privateServers: own.launches(),
      lacksPython,
      windows: process.platform === 'win32',
      trusted,
      isProgram,
    });
    this.#log.info('reason' in places ? places.reason : `Servers: ${places.map(({ command, how }) => `${command}, from ${how}`).join('; ')}`);
    return places;
  }

  /** Makes the private environment, with progress and Cancel. Throws an Error for the user. */
  async setUp(): Promise<void> {
    const pythons = await this.#pythons();
    await cancellable(l10n.t('Setting up Ullage'), (signal, report) => this.own.make(pythons, signal, report));
  }

  /** Makes the environment anew for the wheel of this extension. Throws an Error if that fails; the earlier one stays. */
  async renew(): Promise<void> {
    const pythons = await this.#pythons();
    await cancellable(l10n.t("Updating Ullage's server"), (signal, report) => this.own.renew(pythons, signal, report));
  }

  /** Adds the packages for asking models, with progress and Cancel. Throws an Error for the user. */
  async fetchExtras(): Promise<void> {
    const pythons = await this.#pythons();
    await cancellable(l10n.t('Fetching what asks models (once)'), (signal, report) => this.own.addExtras(pythons, signal, report));
  }

  /** Adds the packages for asking models in the background. Throws an Error for the user. */
  async addExtras(): Promise<void> {
    const options = { location: vscode.ProgressLocation.Window, title: l10n.t('Ullage: adding what asks models') };
    await vscode.window.withProgress(options, () => this.own.addExtras([], new AbortController().signal, () => undefined));
  }

  async #pythons(): Promise<readonly string[]> {
    const chosen = vscode.workspace.getConfiguration('ullage').get<string>('server.python', '');
    const active = vscode.workspace.isTrusted ? await activeInterpreter() : undefined;
    return chosen ? [chosen] : interpreters(active);
  }
}

async function cancellable(title: string, work: Work): Promise<void> {
  const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
  await vscode.window.withProgress(options, async (progress, token) => {
    const abort = new AbortController();
    token.onCancellationRequested(() => { abort.abort(); });
    try {
      await work(abort.signal, (message) => { progress.report({ message }); });
    } catch (error) {
      if (abort.signal.aborted) throw new vscode.CancellationError();
      throw error;
    }
  });
}

function isProgram(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

/** Whether a program is in a folder of `PATH`. */
export function isOnPath(program: string): boolean {
  const windows = process.platform === 'win32';
  const folders = searchPath({ environment: process.env, windows });
  return folders.some((folder) => fs.existsSync(path.join(folder, windows ? `${program}.exe` : program)));
}

/** The values that the decision depends on. */
export interface Surroundings {
  /** `ullage.server.path`, empty if unset. */
  readonly setting: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Program folders of the active Python environment. */
  readonly pythonFolders: readonly string[];
  /** How the servers of environments that this extension makes are started, best first, whether they exist or not. */
  readonly privateServers: readonly Launch[];
  /** Whether one can be made as soon as there is a Python that is new enough. */
  readonly lacksPython: boolean;
  readonly windows: boolean;
  /** Whether the folder is trusted. An untrusted folder must not choose what runs. */
  readonly trusted: boolean;
  readonly isProgram: (file: string) => boolean;
}

export interface Found extends Launch {
  /** Where the program was found, for the user. */
  readonly how: string;
}

/** By which the user names the program. */
const SETTING = 'ullage.server.path';
const VARIABLE = 'ULLAGE_SERVER';
/** What `how` says of the server that the extension brings along. */
export const OWN_SERVER = l10n.t("the extension's own server");

export interface NotFound {
  readonly reason: string;
  /** Whether a Python that is new enough is all that is missing. */
  readonly lacksPython: boolean;
}

export type Places = readonly [Found, ...Found[]] | NotFound;

/** Returns the programs that may be run, best first. A later one is run if an earlier one turns out to be too old. */
export function locate(around: Surroundings): Places {
  const chosen = named(around);
  if (chosen) return isFound(chosen) ? [chosen] : chosen;
  const [first, ...others] = installed(around);
  return first ? [first, ...others] : notFound(around);
}

function isFound(place: Found | NotFound): place is Found {
  return 'command' in place;
}

/** A program that the user named must exist: falling back would run a program that the user did not choose. */
function named(around: Surroundings): Found | NotFound | undefined {
  const { setting, environment } = around;
  const variable = environment[VARIABLE];
  const choices = [
    { file: setting, how: l10n.t('the setting {0}', SETTING), wrong: l10n.t('The setting {0} names {1}, which is not a program.', SETTING, setting) },
    { file: variable, how: l10n.t('the environment variable {0}', VARIABLE), wrong: l10n.t('The environment variable {0} names {1}, which is not a program.', VARIABLE, variable ?? '') },
  ];
  for (const { file, how, wrong } of choices) {
    if (!file) continue;
    const command = expandHome(file, around.environment);
    return around.isProgram(command) ? { command, words: [], how } : { reason: wrong, lacksPython: false };
  }
  return undefined;
}

function installed(around: Surroundings): readonly Found[] {
  const places: readonly (readonly [string, readonly Launch[]])[] = [
    [l10n.t('the active Python environment'), around.trusted ? around.pythonFolders.map((folder) => inFolder(folder, around)) : []],
    ['PATH', searchPath(around).map((folder) => inFolder(folder, around))],
    ...around.privateServers.map((launch) => [OWN_SERVER, [launch]] as const),
  ];
  return places.flatMap(([how, launches]) => {
    const launch = launches.find(({ command }) => around.isProgram(command));
    return launch ? [{ ...launch, how }] : [];
  });
}

function notFound(around: Surroundings): NotFound {
  if (around.lacksPython) return { reason: NO_PYTHON, lacksPython: true };
  const reason = around.trusted
    ? l10n.t('No ullage program was found in the active Python environment or on PATH, and none has been set up yet.')
    : l10n.t('No ullage program was found on PATH (this folder is not trusted, so its settings are not used), and none has been set up yet.');
  return { reason, lacksPython: false };
}

/** Only absolute folders: a relative one would depend on the open folder. */
export function searchPath({ environment, windows }: Pick<Surroundings, 'environment' | 'windows'>): readonly string[] {
  const value = environment['PATH'] ?? environment['Path'] ?? '';
  const system = windows ? path.win32 : path.posix;
  return value.split(system.delimiter).filter((folder) => system.isAbsolute(folder));
}

function inFolder(folder: string, { windows }: Surroundings): Launch {
  return { command: windows ? path.win32.join(folder, 'ullage.exe') : path.posix.join(folder, 'ullage'), words: [] };
}

function expandHome(file: string, environment: Surroundings['environment']): string {
  const home = environment['HOME'] ?? environment['USERPROFILE'];
  return home && /^~[/\\]/.test(file) ? path.join(home, file.slice(2)) : file;
}
