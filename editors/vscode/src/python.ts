/** The active Python environment, according to the Python extension if it is installed. */
import * as path from 'node:path';

import * as vscode from 'vscode';

import { placesOfPython } from './gettingPython';

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
