/** Which followed conversation a terminal has. */
import { execFile } from 'node:child_process';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { promisify } from 'node:util';

import * as vscode from 'vscode';

import type { Following } from './following';
import type { FollowedConversation } from './protocol.gen';

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

// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Types a text of several lines into a terminal, and does not press Enter. The user reads it there first. */
export function pasteInto(terminal: Pick<vscode.Terminal, 'show' | 'sendText'>, text: string): void {
  terminal.show(false);
  terminal.sendText(asPaste(text), false);
}

/**
 * Returns a text as a terminal hands over what is pasted: between two marks, so that the agent takes a line break for a
 * part of the text and not for Enter. Control characters are left out: one could end the paste early.
 */
export function asPaste(text: string): string {
  return `\u001b[200~${text.replaceAll('\r\n', '\n').replace(CONTROL, '').replaceAll('\n', '\r')}\u001b[201~`;
}

const run = promisify(execFile);
/** The most processes of one terminal that are looked at. A build may start hundreds. */
const MOST = 64;

/** What a terminal runs: its processes, the files they have open and the folder of the last one, as far as the system says it. */
export interface Tree {
  readonly processes: ReadonlySet<number>;
  readonly openFiles: ReadonlySet<string>;
  readonly cwd: string;
}

/** Returns what runs under a shell. On Windows that is the shell alone. */
export async function treeOf(shell: number): Promise<Tree> {
  const processes = process.platform === 'linux' ? await linuxTree(shell) : process.platform === 'win32' ? [shell] : await unixTree(shell);
  if (process.platform !== 'linux') return { processes: new Set(processes), openFiles: new Set(), cwd: '' };
  const last = processes.at(-1) ?? shell;
  const files = await Promise.all(processes.filter((one) => one !== shell).map(openFiles));
  const cwd = await readlink(`/proc/${last}/cwd`).catch(() => '');
  return { processes: new Set(processes), openFiles: new Set(files.flat()), cwd };
}

async function linuxTree(shell: number): Promise<readonly number[]> {
  const found = [shell];
  for (const parent of found) {
    if (found.length >= MOST) break;
    const threads = await readdir(`/proc/${parent}/task`).catch(() => []);
    const lists = await Promise.all(threads.map((thread) => readFile(`/proc/${parent}/task/${thread}/children`, 'utf8').catch(() => '')));
    found.push(...lists.join(' ').split(' ').filter(Boolean).map(Number));
  }
  return found.slice(0, MOST);
}

async function unixTree(shell: number): Promise<readonly number[]> {
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,ppid=']);
  const children = new Map<number, number[]>();
  for (const line of stdout.split('\n')) {
    const [child = 0, parent = 0] = line.trim().split(/\s+/).map(Number);
    children.set(parent, [...(children.get(parent) ?? []), child]);
  }
  const found = [shell];
  for (const parent of found) if (found.length < MOST) found.push(...(children.get(parent) ?? []));
  return found.slice(0, MOST);
}

async function openFiles(one: number): Promise<readonly string[]> {
  const handles = await readdir(`/proc/${one}/fd`).catch(() => []);
  return Promise.all(handles.map((handle) => readlink(`/proc/${one}/fd/${handle}`).catch(() => '')));
}
