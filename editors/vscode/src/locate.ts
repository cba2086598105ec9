/** Locates the server's program in a fixed list of places, decided from values alone. */
import * as path from 'node:path';

import * as l10n from '@vscode/l10n';

import { NO_PYTHON, type Launch } from './privateEnvironment';

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
