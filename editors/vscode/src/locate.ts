/** Locates the server's program: the first in a fixed list of places, decided from values alone. */
import * as path from 'node:path';

/** The values that the decision depends on. */
export interface Surroundings {
  /** `ullage.server.path`, empty if unset. */
  readonly setting: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Program folders of the active Python environment. */
  readonly pythonFolders: readonly string[];
  /** The program of the environment that this extension makes, whether it exists or not. */
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

export interface NotFound {
  readonly reason: string;
}

export function locate(around: Surroundings): Found | NotFound {
  return named(around) ?? installed(around) ?? notFound(around);
}

export function isFound(place: Found | NotFound): place is Found {
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

function installed(around: Surroundings): Found | undefined {
  const places: readonly (readonly [string, readonly string[]])[] = [
    ['the active Python environment', around.trusted ? around.pythonFolders.map((folder) => inFolder(folder, around)) : []],
    ['PATH', searchPath(around).map((folder) => inFolder(folder, around))],
    ["the extension's own environment", [around.privateServer]],
  ];
  for (const [how, files] of places) {
    const command = files.find(around.isProgram);
    if (command) return { command, how };
  }
  return undefined;
}

function notFound(around: Surroundings): NotFound {
  const where = around.trusted ? 'the active Python environment or on PATH' : 'on PATH (this folder is not trusted, so its settings are not used)';
  return { reason: `No ullage program was found in ${where}, and none has been set up yet.` };
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
