/** Which followed conversation a terminal has. */
import * as vscode from 'vscode';

import type { FollowedConversation } from '../protocol.gen';
import type { Following } from './following';
import { treeOf, type Tree } from './processes';

/** Milliseconds between two looks at the active terminal, in which an agent may have begun or ended. */
const EVERY = 2_000;

/** The part of VS Code's terminals that versions before 1.93 lack. */
interface Integrated {
  readonly shellIntegration?: { readonly cwd?: vscode.Uri };
}

export class Terminals implements vscode.Disposable {
  readonly #following: Following;
  readonly #disposables: vscode.Disposable;
  #isLooking = false;

  constructor(following: Following) {
    this.#following = following;
    const look = (): void => { void this.#look(); };
    const timer = setInterval(look, EVERY);
    this.#disposables = vscode.Disposable.from(
      vscode.window.onDidChangeActiveTerminal(look),
      vscode.window.onDidCloseTerminal(look),
      following.onDidChange((rows) => { if (rows.length > 0) look(); }),
      { dispose: () => { clearInterval(timer); } },
    );
  }

  dispose(): void {
    this.#disposables.dispose();
  }

  /** Returns the terminal in which a conversation runs, or undefined. */
  async of(sessionId: string): Promise<vscode.Terminal | undefined> {
    for (const terminal of [vscode.window.activeTerminal, ...vscode.window.terminals])
      if (terminal && (await conversationIn(terminal, this.#following.rows)) === sessionId) return terminal;
    return undefined;
  }

  async #look(): Promise<void> {
    const terminal = vscode.window.activeTerminal;
    const { rows } = this.#following;
    if (!terminal || rows.length === 0) {
      this.#following.setTerminal(undefined);
      return;
    }
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const found = await conversationIn(terminal, rows);
      if (terminal === vscode.window.activeTerminal) this.#following.setTerminal(found);
    } finally {
      this.#isLooking = false;
    }
  }
}

async function conversationIn(terminal: vscode.Terminal, rows: readonly FollowedConversation[]): Promise<string | undefined> {
  const shell = await terminal.processId;
  if (shell === undefined) return undefined;
  const tree = await treeOf(shell).catch(() => undefined);
  return tree && match(rows, tree, (terminal as Integrated).shellIntegration?.cwd?.fsPath ?? '');
}

/**
 * Returns the session that a terminal has: one whose agent names a process of the terminal, else one whose file a
 * process of it has open, else the newest that continues in the terminal's folder while something runs in the terminal.
 */
export function match(rows: readonly FollowedConversation[], tree: Tree, shellFolder: string): string | undefined {
  const newest = [...rows].sort((one, other) => other.updatedAt - one.updatedAt);
  const named = newest.find(({ processId }) => processId !== null && tree.processes.has(processId));
  const open = named ?? newest.find(({ path }) => path !== '' && tree.openFiles.has(path));
  if (open) return open.sessionId;
  if (tree.processes.size < 2) return undefined;
  const folder = tree.cwd || shellFolder;
  return newest.find(({ live, processId, cwd }) => live && processId === null && folder !== '' && cwd === folder)?.sessionId;
}
