/** Finds the server's program, or sets one up. */
import * as fs from 'node:fs';
import * as path from 'node:path';

import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import { NO_PYTHON, PrivateEnvironment, type Launch } from './privateEnvironment';
import { activeInterpreter, interpreters } from './python';

type Work = (signal: AbortSignal, report: (message: string) => void) => Promise<void>;

export class ServerLocator {
  readonly #environment: PrivateEnvironment;
  readonly #log: vscode.LogOutputChannel;

  constructor(context: vscode.ExtensionContext, log: vscode.LogOutputChannel) {
    const bundled = path.join(context.extensionPath, 'bundled');
    this.#environment = new PrivateEnvironment(context.globalStorageUri.fsPath, bundled, log);
    this.#log = log;
  }

  /** Whether `setUp` can provide a server. */
  get canSetUp(): boolean {
    return this.#environment.isPossible;
  }

  /** Whether only an environment for an earlier wheel exists. It is used until it is renewed, which needs no new consent. */
  get isOutdated(): boolean {
    return this.#environment.isOutdated;
  }

  /** Whether the user has agreed that the packages for asking models are fetched, and they were not. */
  get awaitsExtras(): boolean {
    return !this.#environment.isWhole && this.#environment.lacksExtras;
  }

  /** Returns the programs to try, best first. `ready` must be called before one of the extension's own is run. */
  async find(): Promise<Places> {
    const trusted = vscode.workspace.isTrusted;
    const active = trusted ? await activeInterpreter() : undefined;
    const environment = this.#environment;
    const lacksPython = environment.isPossible && !environment.isReady && !(await environment.hasPython(await this.#pythons()));
    const privateServers = environment.launches();
    const canBeMade = (file: string): boolean => !lacksPython && privateServers.some((launch) => launch.command === file && environment.isOwn(launch));
    const places = locate({
      setting: vscode.workspace.getConfiguration('ullage').get<string>('server.path', ''),
      environment: process.env,
      pythonFolders: active ? [path.dirname(active)] : [],
      privateServers,
      lacksPython,
      windows: process.platform === 'win32',
      trusted,
      isProgram: (file) => isProgram(file) || canBeMade(file),
    });
    this.#log.info('reason' in places ? places.reason : `Servers: ${places.map(({ command, how }) => `${command}, from ${how}`).join('; ')}`);
    return places;
  }

  /**
   * Makes the server that was found, if it is one that the extension includes and has not made yet. Returns how it is
   * started. Throws an Error for the user.
   */
  async ready(place: Found): Promise<Found> {
    const environment = this.#environment;
    if (place.how !== OWN_ENVIRONMENT || environment.isReady || !environment.isOwn(place)) return place;
    const options = { location: vscode.ProgressLocation.Window, title: l10n.t('Ullage: unpacking its server') };
    const pythons = await this.#pythons();
    const isMade = await vscode.window.withProgress(options, () => environment.unpack(pythons, new AbortController().signal));
    if (!isMade) throw new Error(l10n.t('The server that the extension includes does not run on a Python of this machine. Another one can be fetched.'));
    return { ...place, ...environment.launches().find((launch) => environment.isOwn(launch)) };
  }

  /** Has the extension's own server made again, because it does not start. Returns whether that is possible. */
  async discard(): Promise<boolean> {
    await this.#environment.discard();
    return this.#environment.isWhole;
  }

  /** Makes the private environment, with progress and Cancel. Throws an Error for the user. */
  async setUp(): Promise<void> {
    const pythons = await this.#pythons();
    await cancellable(l10n.t('Setting up Ullage'), (signal, report) => this.#environment.make(pythons, signal, report));
  }

  /** Makes the environment anew for the wheel of this extension. Throws an Error if that fails; the earlier one stays. */
  async renew(): Promise<void> {
    const pythons = await this.#pythons();
    await cancellable(l10n.t("Updating Ullage's server"), (signal, report) => this.#environment.renew(pythons, signal, report));
  }

  /** Whether the extension's own server has not the packages for asking models. */
  get lacksExtras(): boolean {
    return this.#environment.lacksExtras;
  }

  /** Adds the packages for asking models, with progress and Cancel. Throws an Error for the user. */
  async fetchExtras(): Promise<void> {
    await cancellable(l10n.t('Fetching what asks models (once)'), (signal) => this.#environment.addExtras(signal));
  }

  /** Adds the packages for asking models in the background. Throws an Error for the user. */
  async addExtras(): Promise<void> {
    const options = { location: vscode.ProgressLocation.Window, title: l10n.t('Ullage: adding what asks models') };
    await vscode.window.withProgress(options, () => this.#environment.addExtras(new AbortController().signal));
  }

  /** Removes environments of earlier wheels. */
  async tidy(): Promise<void> {
    await this.#environment.removeOthers();
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
/** What `how` says of the private environment. */
export const OWN_ENVIRONMENT = l10n.t("the extension's own environment");

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
    ...around.privateServers.map((launch) => [OWN_ENVIRONMENT, [launch]] as const),
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
