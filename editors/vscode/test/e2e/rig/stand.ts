/** Real agents with scripted models on the loopback, as `tests/support/agents/stand.py` sets them up. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import readline from 'node:readline';

import { given, repository } from './places.ts';

export interface Stood {
  /** The script that starts the agent, or null where it is not installed. */
  readonly script: string | null;
  /** What its screen shows when it takes prompts. */
  readonly ready: string;
  readonly window: number;
  readonly compactsAt: number;
}

/** The answers that an agent has asked for, and the tokens in its context as it says them itself. */
export interface Standing {
  readonly asked: number;
  readonly figure: number | null;
}

interface Begun {
  readonly agents: Readonly<Record<string, Stood>>;
  readonly project: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** What an agent's model says: answers by a word of their prompts, and its next summary. */
export interface Words {
  readonly says: Readonly<Record<string, string>>;
  readonly summary: string;
}

export class Stand {
  readonly begun: Begun;
  readonly #process: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  private constructor(begun: Begun, process: ChildProcess, lines: AsyncIterator<string>) {
    this.begun = begun;
    this.#process = process;
    this.#lines = lines;
  }

  /** Sets the agents up in an empty folder. */
  static async open(folder: string): Promise<Stand> {
    const python = path.join(path.dirname(given('ULLAGE_PROGRAM')), 'python');
    const places = ['server', 'tests', 'scripts'].map((name) => path.join(repository, name)).join(path.delimiter);
    const stand = spawn(python, ['-m', 'support.agents.stand', folder], { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, PYTHONPATH: places } });
    const lines = readline.createInterface({ input: stand.stdout })[Symbol.asyncIterator]();
    return new Stand(await read<Begun>(lines), stand, lines);
  }

  /** Returns how an agent stands. With `inflated`, its usage has so many tokens more from now on, until it compacts. */
  async look(agent: string, inflated?: number): Promise<Standing> {
    return this.#order({ agent, ...(inflated === undefined ? {} : { inflated }) });
  }

  /** Has an agent's model say these words from now on. */
  async teach(agent: string, words: Words): Promise<void> {
    await this.#order({ agent, ...words });
  }

  async #order(order: object): Promise<Standing> {
    this.#process.stdin?.write(`${JSON.stringify(order)}\n`);
    return read<Standing>(this.#lines);
  }

  async close(): Promise<void> {
    const ended = once(this.#process, 'exit');
    this.#process.stdin?.end();
    await ended;
  }
}

async function read<T>(lines: AsyncIterator<string>): Promise<T> {
  const line = await lines.next();
  if (line.done) throw new Error('the stand of the agents has ended; its output says why');
  return JSON.parse(line.value) as T;
}
