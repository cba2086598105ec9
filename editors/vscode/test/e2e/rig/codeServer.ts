/** A code-server process for a test: where things are, how long to wait, its language, and its processes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as later } from 'node:timers/promises';

/** Milliseconds: many times what any reaction takes on a loaded machine with two cores. Only a test that fails takes that long. */
export const PATIENCE = 60_000;
/** Milliseconds for the start of a workbench. */
export const START_PATIENCE = 180_000;
const POLL = 25;

/** Waits until `look` returns something other than undefined or false. */
export async function until<T>(what: string, look: () => T | Promise<T>, patience = PATIENCE): Promise<NonNullable<T>> {
  const end = Date.now() + patience;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== null && found !== false) return found;
    if (Date.now() > end) throw new Error(`waited ${patience / 1000} s in vain for ${what}`);
    await later(POLL);
  }
}

const here = import.meta.dirname;

export const extensionRoot = path.resolve(here, '../../..');
export const repository = path.resolve(extensionRoot, '../..');
/** The conversation of the demo, 38,000 tokens. */
export const sample = path.join(repository, 'server/ullage/cli/data/sample.jsonl');
/** Conversations recorded by others. They are not part of the repository and not on every machine. */
export const transcripts = process.env['ULLAGE_TRANSCRIPTS'] ?? path.resolve(repository, '../shared/data/transcripts');
/** Screenshots of a run, and the logs of a failed one. */
export const output = path.join(extensionRoot, 'test-results');
/** The images of the README. */
export const images = path.join(extensionRoot, 'images');
/** The extensions of the windows, Ullage's and the tests' own. No window changes them. */
export const extensions = path.join(output, 'extensions');
/** An environment in which nothing can be fetched: the package has all that it needs. */
export const OFFLINE = { PIP_NO_INDEX: '1', HTTPS_PROXY: 'http://127.0.0.1:9', HTTP_PROXY: 'http://127.0.0.1:9', NO_PROXY: '127.0.0.1,localhost' };

/** Returns a value that `scripts/e2e` sets. */
export function given(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run ./scripts/e2e vscode, which sets up all these tests need`);
  return value;
}

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
  return descendants(root).find(({ command }) => isUllage(command) && command.includes('lsp'))?.pid;
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

/** A program of its own, or Python that runs one. A shell that starts it is neither. */
function isUllage([program = '', script = '']: readonly string[]): boolean {
  return /\/ullage$/.test(program) || (/python[\d.]*$/.test(program) && /ullage$/.test(script));
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

/** The extension that has the pack. VS Code reads its name and never looks for it. */
const PACK = { extensionIdentifier: { id: 'ullage-tests.language-pack', uuid: '00000000-0000-4000-8000-000000000000' }, version: '1.0.0' };

/** Writes the pack where VS Code lists those that are installed. Returns the flags that choose the language. */
export function packLanguage(user: string, language: string): readonly string[] {
  const translation = path.join(user, 'pack', 'main.i18n.json');
  const pack = { hash: 'tests', label: language, extensions: [PACK], translations: { vscode: translation } };
  mkdirSync(path.dirname(translation), { recursive: true });
  writeFileSync(translation, JSON.stringify({ version: '1.0.0', contents: {} }));
  writeFileSync(path.join(user, 'languagepacks.json'), JSON.stringify({ [language]: pack }));
  return ['--locale', language];
}

export function pacedProgram(): string {
  const file = path.join(output, 'paced', 'ullage');
  const relay = path.join(import.meta.dirname, 'pacedServer.ts');
  mkdirSync(path.dirname(file), { recursive: true });
  const words = [given('ULLAGE_NODE'), '--no-warnings', relay, given('ULLAGE_PROGRAM')].map((word) => `'${word}'`);
  writeFileSync(file, `#!/bin/sh\nexec ${words.join(' ')} "$@"\n`);
  chmodSync(file, 0o755);
  return file;
}

const QUIET = {
  'workbench.startupEditor': 'none',
  'workbench.enableExperiments': false,
  'workbench.tips.enabled': false,
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'telemetry.telemetryLevel': 'off',
  'extensions.autoUpdate': false,
  'extensions.autoCheckUpdates': false,
  'update.mode': 'none',
  'chat.disableAIFeatures': true,
  'git.enabled': false,
  'security.workspace.trust.startupPrompt': 'never',
};

export interface Setup {
  /** Whether Ullage and the test extension are installed, as `scripts/rigs/extension.sh` has built them; else no extension is. */
  readonly installed: boolean;
  /** User settings in addition to those that keep the workbench quiet. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly environment: Readonly<Record<string, string>>;
  /** The folder that is opened; one of its own by default. */
  readonly folder?: string;
  /** Files of the open folder, by name; empty by default. */
  readonly files?: Readonly<Record<string, string>>;
  /** VS Code's display language; English by default. */
  readonly language?: string;
  /** Whether VS Code asks which folders are trusted, so that the open folder is not trusted. */
  readonly restricted?: boolean;
}

export class CodeServer {
  readonly home: string;
  readonly workspace: string;
  readonly url: string;
  readonly #process: ChildProcess;

  private constructor(home: string, workspace: string, url: string, process: ChildProcess) {
    this.home = home;
    this.workspace = workspace;
    this.url = url;
    this.#process = process;
  }

  static async start(setup: Setup): Promise<CodeServer> {
    const home = mkdtempSync(path.join(tmpdir(), 'ullage-vscode-'));
    const workspace = setup.folder ?? path.join(home, 'workspace');
    const port = await freePort();
    const flags = folders(home, workspace, setup);
    const env = environment(home, setup);
    const log = openSync(path.join(home, 'code-server.log'), 'w');
    const address = `127.0.0.1:${port}`;
    const process = spawn(
      given('ULLAGE_NODE'),
      [given('ULLAGE_CODE_SERVER'), ...flags, '--bind-addr', address, '--auth', 'none', '--disable-telemetry',
        '--disable-update-check', '--disable-getting-started-override', ...(setup.restricted ? [] : ['--disable-workspace-trust']),
        workspace],
      { env, stdio: ['ignore', log, log] },
    );
    const server = new CodeServer(home, workspace, `http://${address}`, process);
    await until('code-server to listen', () => server.#listens(), START_PATIENCE);
    return server;
  }

  get pid(): number {
    if (this.#process.pid === undefined) throw new Error('code-server did not start');
    return this.#process.pid;
  }

  /** Keeps the logs of a failed run. */
  saveLogs(to: string): void {
    mkdirSync(to, { recursive: true });
    const kept = ['code-server.log', 'user/logs'].map((name) => path.join(this.home, name)).filter((file) => existsSync(file));
    for (const file of kept) cpSync(file, path.join(to, path.basename(file)), { recursive: true });
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve));
    if (this.#process.exitCode === null && this.#process.kill('SIGTERM')) await ended;
    // The extension host and the language server live a second or two longer, and still write.
    rmSync(this.home, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
  }

  async #listens(): Promise<boolean> {
    if (this.#process.exitCode !== null) throw new Error(`code-server ended with ${this.#process.exitCode}`);
    return fetch(`${this.url}/healthz`).then((answer) => answer.ok, () => false);
  }
}

function folders(home: string, workspace: string, setup: Setup): readonly string[] {
  const user = path.join(home, 'user');
  const file = path.join(home, 'ullage.settings.json');
  const [listed, others] = parted(setup.settings);
  writeFileSync(file, JSON.stringify(others));
  const settings = JSON.stringify({ ...QUIET, 'ullage.settingsFile': file, ...listed });
  // In a window in the browser, settings of machine scope are read only from Machine/.
  for (const scope of ['User', 'Machine']) {
    mkdirSync(path.join(user, scope), { recursive: true });
    writeFileSync(path.join(user, scope, 'settings.json'), settings);
  }
  mkdirSync(workspace, { recursive: true });
  for (const [name, text] of Object.entries(setup.files ?? {})) {
    const file = path.join(workspace, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  const language = setup.language === undefined ? [] : packLanguage(user, setup.language);
  return [...language, '--user-data-dir', user, '--extensions-dir', setup.installed ? extensions : path.join(home, 'extensions')];
}

/** Returns the settings that VS Code lists, and by their own names those of Ullage that it does not. */
function parted(settings: Readonly<Record<string, unknown>>): readonly [object, object] {
  const manifest = JSON.parse(readFileSync(path.join(extensionRoot, 'package.json'), 'utf8')) as { readonly contributes: { readonly configuration: readonly { readonly properties: object }[] } };
  const known = new Set(manifest.contributes.configuration.flatMap(({ properties }) => Object.keys(properties)));
  const isListed = ([name]: readonly [string, unknown]): boolean => !name.startsWith('ullage.') || known.has(name);
  const all = Object.entries(settings);
  const others = all.filter((one) => !isListed(one)).map(([name, value]) => [name.replace('ullage.', ''), value]);
  return [Object.fromEntries(all.filter(isListed)), Object.fromEntries(others) as object];
}

function environment(home: string, setup: Setup): NodeJS.ProcessEnv {
  return {
    ...cleanEnvironment(home),
    // Nothing listens there, so that the workbench finds no marketplace.
    EXTENSIONS_GALLERY: '{"serviceUrl":"http://127.0.0.1:9/"}',
    ...setup.environment,
  };
}

/** Returns this machine's environment with an empty home and without Ullage. */
export function cleanEnvironment(home: string): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^(VSCODE|ULLAGE|VIRTUAL_ENV|PYTHON)/.test(name));
  const folders = (process.env['PATH'] ?? '').split(path.delimiter).filter((folder) => !existsSync(path.join(folder, 'ullage')));
  const xdg = ['CONFIG', 'DATA', 'STATE', 'CACHE'].map((name) => [`XDG_${name}_HOME`, path.join(home, name.toLowerCase())] as const);
  return {
    ...Object.fromEntries(own),
    ...Object.fromEntries(xdg),
    HOME: home,
    PATH: folders.join(path.delimiter),
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as net.AddressInfo;
      server.close(() => { resolve(port); });
    });
  });
}
