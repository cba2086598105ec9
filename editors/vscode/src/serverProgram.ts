/** The server's process: started, its last words, ended. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';

import type { Launch } from './privateEnvironment';

/** Milliseconds in which the last output of an ended program may still arrive. */
const LAST_WORDS = 500;
/** Milliseconds that a program may take to end after it was asked to. */
const GRACE = 2_000;

export class ServerProgram {
  readonly #launch: Launch;
  readonly #environment: Readonly<Record<string, string>>;
  readonly #log: (text: string) => void;
  #child: ChildProcessWithoutNullStreams | undefined;
  #line = '';

  /** `environment` is added to the editor's own. `log` is given what the program writes to standard error. */
  constructor(launch: Launch, environment: Readonly<Record<string, string>>, log: (text: string) => void) {
    this.#launch = launch;
    this.#environment = environment;
    this.#log = log;
  }

  /** Starts the program. Rejects if it cannot be run at all. */
  async start(): Promise<ChildProcessWithoutNullStreams> {
    const { command, words } = this.#launch;
    const child = spawn(command, [...words, 'lsp'], { stdio: 'pipe', env: { ...process.env, ...this.#environment } });
    this.#child = child;
    child.stderr.on('data', (chunk: Buffer) => {
      const text = chunk.toString().trim();
      this.#line = text.split('\n').at(-1) ?? this.#line;
      if (text !== '') this.#log(text);
    });
    // The end of the process is told by its output. A write that meets a closed pipe tells nothing more.
    child.stdin.on('error', () => undefined);
    await once(child, 'spawn');
    return child;
  }

  get hasEnded(): boolean {
    const child = this.#child;
    return child !== undefined && (child.exitCode !== null || child.signalCode !== null);
  }

  /** Returns the last line that the program wrote to standard error, or an empty string, once the program has ended. */
  async lastWords(): Promise<string> {
    await this.#ended(LAST_WORDS);
    return this.#line;
  }

  /** Ends the program's input, waits for it to end with that, and kills it if it does not. */
  async end(): Promise<void> {
    this.#child?.stdin.end();
    await this.#ended(GRACE);
    if (this.#child?.exitCode === null) this.#child.kill('SIGKILL');
  }

  /** Waits until the process ends, for at most `limit` milliseconds. */
  async #ended(limit: number): Promise<void> {
    const child = this.#child;
    if (!child || this.hasEnded) return;
    // A process that takes longer is no error here.
    await once(child, 'close', { signal: AbortSignal.timeout(limit) }).catch(() => undefined);
  }
}
