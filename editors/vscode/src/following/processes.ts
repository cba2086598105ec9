/** The processes that run in a terminal. */
import { execFile } from 'node:child_process';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { promisify } from 'node:util';

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
