/** Locates the server's program in a fixed list of places, decided from values alone. */
import * as path from 'node:path';

/** The values that the decision depends on. */
export interface Surroundings {
  /** `ullage.server.path`, empty if unset. */
  readonly setting: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Program folders of the active Python environment. */
  readonly pythonFolders: readonly string[];
  /** The program of an environment that this extension made, whether it exists or not. */
  readonly privateServer: string;
  readonly windows: boolean;
  /** Whether the folder is trusted. An untrusted folder must not choose what runs. */
  readonly trusted: boolean;
  readonly isProgram: (file: string) => boolean;
}

export interface Found {
  readonly command: string;
  /** Where the program was found, for the user. */
  readonly how: string;
}

/** What `how` says of the private environment. */
export const OWN_ENVIRONMENT = "the extension's own environment";

export interface NotFound {
  readonly reason: string;
}

/** Returns the programs that may be run, best first. A later one is run if an earlier one turns out to be too old. */
export function locate(around: Surroundings): readonly [Found, ...Found[]] | NotFound {
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
  const choices: readonly (readonly [string, string | undefined])[] = [
    ['the setting ullage.server.path', around.setting],
    ['the environment variable ULLAGE_SERVER', around.environment['ULLAGE_SERVER']],
  ];
  for (const [how, file] of choices) {
    if (!file) continue;
    const command = expandHome(file, around.environment);
    return around.isProgram(command) ? { command, how } : { reason: `${capital(how)} names ${file}, which is not a program.` };
  }
  return undefined;
}

function installed(around: Surroundings): readonly Found[] {
  const places: readonly (readonly [string, readonly string[]])[] = [
    ['the active Python environment', around.trusted ? around.pythonFolders.map((folder) => inFolder(folder, around)) : []],
    ['PATH', searchPath(around).map((folder) => inFolder(folder, around))],
    [OWN_ENVIRONMENT, [around.privateServer]],
  ];
  return places.flatMap(([how, files]) => {
    const command = files.find(around.isProgram);
    return command ? [{ command, how }] : [];
  });
}

function notFound(around: Surroundings): NotFound {
  const where = around.trusted ? 'in the active Python environment or on PATH' : 'on PATH (this folder is not trusted, so its settings are not used)';
  return { reason: `No ullage program was found ${where}, and none has been set up yet.` };
}

/** Only absolute folders: a relative one would depend on the open folder. */
function searchPath({ environment, windows }: Surroundings): readonly string[] {
  const value = environment['PATH'] ?? environment['Path'] ?? '';
  const system = windows ? path.win32 : path.posix;
  return value.split(system.delimiter).filter((folder) => system.isAbsolute(folder));
}

function inFolder(folder: string, { windows }: Surroundings): string {
  return windows ? path.win32.join(folder, 'ullage.exe') : path.posix.join(folder, 'ullage');
}

function expandHome(file: string, environment: Surroundings['environment']): string {
  const home = environment['HOME'] ?? environment['USERPROFILE'];
  return home && /^~[/\\]/.test(file) ? path.join(home, file.slice(2)) : file;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
