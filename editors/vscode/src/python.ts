/** The active Python environment, according to the Python extension if it is installed. */
import * as path from 'node:path';

import * as vscode from 'vscode';
import * as l10n from '@vscode/l10n';

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
