/** A VS Code of its own for one test file. The developer's settings, extensions and sessions are neither read nor written. */
import { spawn, type ChildProcess } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { START_PATIENCE, until } from './patience.ts';
import { packLanguage } from './languagePack.ts';
import { extensionRoot, extensions, given } from './places.ts';

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
