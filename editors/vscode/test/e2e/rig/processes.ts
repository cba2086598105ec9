/** The processes of a test, found through /proc from the process that the test started. */
import { readdirSync, readFileSync } from 'node:fs';

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly command: readonly string[];
}

/** Returns every process that `root` started, directly or indirectly. */
export function descendants(root: number): readonly Process[] {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(read).filter((process) => process !== undefined);
  const found: Process[] = [];
  let parents = new Set([root]);
  while (parents.size > 0) {
    const children = all.filter(({ parent }) => parents.has(parent));
    found.push(...children);
    parents = new Set(children.map(({ pid }) => pid));
  }
  return found;
}

/** Returns the `ullage lsp` under `root`. */
export function serverUnder(root: number): number | undefined {
  return descendants(root).find(({ command }) => isPython(command) && command.includes('lsp'))?.pid;
}

/** Returns VS Code's extension host under `root`, in which the extensions of one window run. */
export function extensionHostUnder(root: number): number | undefined {
  return descendants(root).find(({ command }) => command.includes('--type=extensionHost'))?.pid;
}

/** Returns the memory of a process in MB. What it shares with other processes is divided among them. */
export function memoryOf(pid: number): number {
  const [, kilobytes] = /^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')) ?? [];
  return Number(kilobytes) / 1024;
}

function isPython(command: readonly string[]): boolean {
  return command.length > 1 && /python[\d.]*$/.test(command[0] ?? '') && /ullage$/.test(command[1] ?? '');
}

function read(pid: string): Process | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may contain anything, also spaces.
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
    return { pid: Number(pid), parent, command: readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').filter(Boolean) };
  } catch {
    return undefined; // The process has ended.
  }
}
