/** The active Python environment, as the Python extension tells it where there is one. */
import * as path from 'node:path';

import * as vscode from 'vscode';

/** What we use of `ms-python.python`'s public API. */
interface PythonApi {
  readonly environments?: {
    getActiveEnvironmentPath(): { readonly path: string };
    readonly onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

/** The interpreter that is chosen in the editor; undefined without the Python extension. */
export async function activeInterpreter(): Promise<string | undefined> {
  const extension = vscode.extensions.getExtension<PythonApi | undefined>('ms-python.python');
  const api = await extension?.activate();
  const chosen = api?.environments?.getActiveEnvironmentPath().path;
  return chosen && path.isAbsolute(chosen) ? chosen : undefined;
}

/** Interpreters to make an environment with, best first. */
export function interpreters(active: string | undefined): readonly string[] {
  const usual = process.platform === 'win32' ? ['py', 'python'] : ['python3', 'python'];
  return [...(active ? [active] : []), ...usual, 'python3.13', 'python3.12', 'python3.11'];
}
