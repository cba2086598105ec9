/** Agents beside the workbench: their files, real ones with scripted models, a team's archive, and a machine on which an agent was used. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import readline from 'node:readline';

import { cleanEnvironment, given, OFFLINE, repository, sample, START_PATIENCE } from './codeServer.ts';
import { Workbench } from './workbench.ts';

const ID = '11111111-2222-3333-4444-555555555555';

export class ClaudeFile {
  readonly file: string;
  #lines = 0;
  /** The record that the next one follows. */
  #last: string | null = null;

  /** Makes the folder of the file, but not the file. `home` is what `CLAUDE_CONFIG_DIR` names. */
  constructor(home: string) {
    this.file = path.join(home, 'projects/-project', `${ID}.jsonl`);
    mkdirSync(path.dirname(this.file), { recursive: true });
  }

  /** Adds a prompt and an answer, after which the context has `tokens` tokens. `cwd` is the folder that the agent works in. */
  say(cwd: string, prompt: string, tokens: number): void {
    const [before, asked, answered] = [this.#last, (this.#lines += 1), (this.#lines += 1)];
    const usage = { input_tokens: tokens - 10, output_tokens: 10 };
    const answer = { id: `msg_u${answered}`, role: 'assistant', model: 'claude-opus-4-6', stop_reason: 'end_turn', usage, content: [{ type: 'text', text: 'Done.' }] };
    this.#append(
      { ...facts(cwd), type: 'user', uuid: `u${asked}`, parentUuid: before, message: { role: 'user', content: prompt } },
      { ...facts(cwd), type: 'assistant', uuid: `u${answered}`, parentUuid: `u${asked}`, message: answer },
    );
    this.#last = `u${answered}`;
  }

  /** Adds a compaction by the agent itself, at `tokens` tokens, with its summary. */
  compact(cwd: string, tokens: number, summary: string): void {
    this.#append(
      { ...facts(cwd), type: 'system', subtype: 'compact_boundary', uuid: 'b1', parentUuid: null, logicalParentUuid: this.#last, content: 'Conversation compacted', compactMetadata: { trigger: 'auto', preTokens: tokens } },
      { ...facts(cwd), type: 'user', uuid: 'b2', parentUuid: 'b1', isCompactSummary: true, message: { role: 'user', content: summary } },
    );
    this.#last = 'b2';
  }

  #append(...records: readonly object[]): void {
    appendFileSync(this.file, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
  }
}

function facts(cwd: string): object {
  return { sessionId: ID, cwd, version: '2.1.39', timestamp: new Date().toISOString(), isSidechain: false };
}

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

/** Milliseconds that a package manager may take. */
const DOWNLOADS = 600_000;

/**
 * Seconds: to make the .vsix from a fresh checkout, from opening VS Code until it shows the context's figure, and from
 * choosing the .vsix until it shows that of an agent's conversation, with a yes as soon as the user is asked.
 */
export interface Newcomer {
  readonly build: number;
  readonly firstUsage: number;
  readonly agentsFigure: number;
}

export async function newcomer(): Promise<Newcomer> {
  const folder = mkdtempSync(path.join(tmpdir(), 'ullage-newcomer-'));
  try {
    const checkout = copyCheckout(path.join(folder, 'checkout'));
    const build = await timed(() => { makeVsix(checkout, path.join(folder, 'home')); });
    const vsix = path.join(checkout, 'editors/vscode/ullage.vsix');
    return { build, firstUsage: await timed(() => reachUsage(vsix)), agentsFigure: await reachAgent(vsix, path.join(folder, 'claude')) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Copies the files that git knows, as they are now. Other programs may make and delete other files meanwhile. */
function copyCheckout(target: string): string {
  const listed = execFileSync('git', ['ls-files', '-z'], { cwd: repository, encoding: 'utf8' });
  const files = listed.split('\0').filter((file) => file && existsSync(path.join(repository, file)));
  for (const file of files) cpSync(path.join(repository, file), path.join(target, file));
  return target;
}

function makeVsix(checkout: string, home: string): void {
  mkdirSync(home);
  const options = { cwd: path.join(checkout, 'editors/vscode'), env: cleanEnvironment(home), timeout: DOWNLOADS, stdio: 'pipe' } as const;
  execFileSync('npm', ['ci'], options);
  execFileSync('npm', ['run', 'package'], options);
}

async function reachUsage(vsix: string): Promise<void> {
  const workbench = await Workbench.open('newcomer', { installed: false, environment: OFFLINE });
  let failed = true;
  try {
    await workbench.run('Install from VSIX...', 'Extensions');
    await workbench.answerFile(vsix);
    await workbench.run('Show Installed Extensions', 'Extensions');
    await workbench.showsWholePage('Ullage');
    // There is no agent yet that could be followed, so nothing is asked.
    await workbench.reads(/^Ullage$/, START_PATIENCE);
    await workbench.shot('installed');
    await workbench.run('Import Transcript…');
    await workbench.pick('Choose a file');
    await workbench.answerFile(sample);
    await workbench.reads(/\d+% · 38K\/200K/);
    await workbench.shot('usage');
    failed = false;
  } finally {
    await workbench.close(failed);
  }
}

/** Returns the seconds from choosing the package to the figure of a conversation that Claude Code has in `config`. */
async function reachAgent(vsix: string, config: string): Promise<number> {
  const workbench = await Workbench.open('newcomer with an agent', { installed: false, environment: { ...OFFLINE, CLAUDE_CONFIG_DIR: config } });
  let failed = true;
  try {
    new ClaudeFile(config).say(workbench.workspace, 'Which port does the service use?', 40_000);
    await workbench.run('Install from VSIX...', 'Extensions');
    await workbench.answerFile(vsix);
    const taken = await timed(async () => {
      const asked = await workbench.toast(/Show how full your coding agents’ conversations are/);
      await asked.getByRole('button', { name: 'Follow them' }).click();
      await workbench.reads(/CC 20%/);
    });
    failed = false;
    return taken;
  } finally {
    await workbench.close(failed);
  }
}

/** Returns the seconds that the work takes. */
async function timed(work: () => unknown): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1_000;
}
