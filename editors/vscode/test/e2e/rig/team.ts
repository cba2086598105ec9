/** A team's archive on a PostgreSQL server of its own, in which a colleague shares conversations (`tests/support/shared_team.py`). */
import { spawn, type ChildProcess } from 'node:child_process';
import path from 'node:path';
import readline from 'node:readline';

import { given, repository } from './places.ts';

export class Team {
  /** The address at which the user reads the archive. */
  readonly archive: string;
  /** The colleague's role. */
  readonly owner: string;
  readonly #process: ChildProcess;

  private constructor(told: { readonly archive: string; readonly owner: string }, process: ChildProcess) {
    this.archive = told.archive;
    this.owner = told.owner;
    this.#process = process;
  }

  /** Returns undefined where PostgreSQL's server is not installed. */
  static async start(): Promise<Team | undefined> {
    const python = path.join(path.dirname(given('ULLAGE_PROGRAM')), 'python');
    const running = spawn(python, ['-m', 'support.shared_team'], { cwd: path.join(repository, 'tests'), stdio: ['pipe', 'pipe', 'inherit'] });
    for await (const line of readline.createInterface({ input: running.stdout })) {
      return new Team(JSON.parse(line) as { archive: string; owner: string }, running);
    }
    return undefined;
  }

  /** Ends the server. Later calls do nothing. */
  async stop(): Promise<void> {
    if (this.#process.exitCode !== null) return;
    const ended = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.stdin?.end();
    await ended;
  }
}
