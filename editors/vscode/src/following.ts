/** The conversations that agents have: asks the user until there is an answer, starts and stops following, keeps the rows. */
import { type FSWatcher, watch } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';

import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import { choose, type Shown } from './conversations';
import type { Health } from './health';
import {
  agentFolders,
  type FollowedConversation,
  type FollowingChange,
  FollowingKeep,
  FollowingStart,
  FollowingStop,
  type KeepingQuestion,
  type Method,
  writableAgents,
} from './protocol.gen';
import { full } from './words';

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns whether one of the agents' folders exists and is not empty. */
export async function hasConversations(environment: Environment = process.env): Promise<boolean> {
  const found = await Promise.all(places(process.platform, homedir(), environment).map(holdsAny));
  return found.includes(true);
}

/** Returns the words of the agents whose sessions can be written and that have a folder for their settings on this machine. */
export async function agentsHere(home = homedir(), environment: Environment = process.env): Promise<readonly string[]> {
  const found = await Promise.all(writableAgents.map(async ({ word, folders }) => {
    const [folder] = located(folders, home, environment);
    return folder !== undefined && (await isFolder(folder)) ? [word] : [];
  }));
  return found.flat();
}

/** Returns the agents' folders on a machine. Those that an unset environment variable would name are left out. */
export function places(platform: string, home: string, environment: Environment): readonly string[] {
  return located(agentFolders[platform] ?? [], home, environment);
}

function located(folders: readonly string[], home: string, environment: Environment): readonly string[] {
  return folders.flatMap((place) => {
    const names = [...place.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name ?? '');
    if (names.some((name) => !environment[name])) return [];
    return [place.replace(/^~/, () => home).replace(/\$\{(\w+)\}/g, (_, name: string) => environment[name] ?? '')];
  });
}

async function holdsAny(place: string): Promise<boolean> {
  try {
    return (await readdir(place)).length > 0;
  } catch (error) {
    // A place may be a file: a database, or a log.
    return (error as NodeJS.ErrnoException).code === 'ENOTDIR';
  }
}

async function isFolder(place: string): Promise<boolean> {
  return stat(place).then((found) => found.isDirectory(), () => false);
}

/** Milliseconds between two looks. A change is heard of at once where the system tells of it. */
const EVERY = 2_000;
const VERSION = 1;
/** A field that files of versions before this one lack. Their rows are not enough for what is shown here. */
const NEEDED = 'nearness';

/** What is read of the file: the process that writes it, whether that tells what is due on the desktop, and its rows. */
export interface Live {
  readonly writer: number;
  readonly desktop: boolean;
  readonly rows: readonly FollowedConversation[];
}

/** Returns the live file of the store that the server has: that of the environment, else of the setting, else its own. */
export function liveFile(platform: string, home: string, environment: Environment, setting = ''): string {
  const store = environment['ULLAGE_STORE'] || setting;
  const data = path.join(dataFolder(platform, home, environment), 'ullage');
  if (!store) return path.join(data, 'sessions.db.live.json');
  if (/^postgres(ql)?:\/\//.test(store)) return path.join(data, `${localName(store)}.live.json`);
  return `${store.replace(/^~(?=\/|$)/, home)}.live.json`;
}

/** The server's rule: `_` for each byte of an address that not every file system has in names. */
function localName(address: string): string {
  return Buffer.from(address).toString('latin1').replace(/[^A-Za-z0-9._-]/g, '_');
}

/** As Python's platformdirs names it. */
function dataFolder(platform: string, home: string, environment: Environment): string {
  const named = environment['XDG_DATA_HOME'];
  if (platform === 'win32') return environment['LOCALAPPDATA'] || path.join(home, 'AppData', 'Local');
  if (named && path.isAbsolute(named)) return named;
  return platform === 'darwin' ? path.join(home, 'Library', 'Application Support') : path.join(home, '.local', 'share');
}

/** Returns what the file's text says, or undefined if it cannot be read, is of another version or has lost its writer. */
export function parse(text: string, isRunning: (writer: number) => boolean): Live | undefined {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { version, follower, sessions, desktop } = (found ?? {}) as Readonly<Record<string, unknown>>;
  if (version !== VERSION || typeof follower !== 'number' || !Array.isArray(sessions) || !isRunning(follower)) return undefined;
  const rows = sessions as readonly Readonly<Record<string, unknown>>[];
  return rows.every((row) => NEEDED in row) ? { writer: follower, desktop: desktop === true, rows: rows.map(asWire) } : undefined;
}

/** Returns a row as the server sends it: the file has the same fields in snake case. */
function asWire(row: Readonly<Record<string, unknown>>): FollowedConversation {
  const entries = Object.entries(row).map(([name, value]) => [name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()), value]);
  return Object.fromEntries(entries) as FollowedConversation;
}

/** Whether a process is there. One of another user is. */
export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Reads the file whenever it changes, from `start` to `stop`. */
export class LiveFile {
  readonly #path: string;
  #watcher: FSWatcher | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(setting: string) {
    this.#path = liveFile(process.platform, homedir(), process.env, setting);
  }

  async read(): Promise<Live | undefined> {
    const text = await readFile(this.#path, 'utf8').catch(() => '');
    return parse(text, isRunning);
  }

  /** Calls `changed` when the file may have changed. The folder is watched, because the file is replaced at each change. */
  start(changed: () => void): void {
    if (this.#timer) return;
    this.#timer = setInterval(changed, EVERY);
    try {
      const name = path.basename(this.#path);
      this.#watcher = watch(path.dirname(this.#path), (_, file) => { if (file === null || file === name) changed(); });
      this.#watcher.on('error', () => { this.#watcher?.close(); });
    } catch {
      // Where the folder cannot be watched the timer does it.
    }
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#watcher?.close();
    this.#watcher = undefined;
  }
}

/** Whether the user has closed the question on this machine without an answer. It then waits in the status bar and the view alone. */
const CLOSED = 'ullage.closedQuestionToFollow';
const FOLLOW = l10n.t('Follow them');
/** Milliseconds between two looks for a first conversation. A look lists a dozen folders. */
const LOOK_AGAIN = 3_000;
const NO = l10n.t('No');
/** Whether the user was told on this machine of keeping, and has closed that without an answer. The tree then asks. */
const KEEPING_CLOSED = 'ullage.closedQuestionToKeep';
const KEEP = l10n.t('Keep them');
const MORE = l10n.t('More…');
const MAY_KEEP = l10n.t('Agents delete old conversations, some after a month. May Ullage keep them?');
const QUESTION = l10n.t('Show how full your coding agents’ conversations are? Ullage only reads the agents’ files.');

/** The functions of the connection that are used here. */
export interface FollowingDoor {
  readonly health: Health;
  readonly onDidChangeHealth: vscode.Event<Health>;
  readonly onDidFollow: vscode.Event<FollowingChange>;
  request<P, R>(method: Method<P, R>, params: NoInfer<P>): Promise<R>;
}

/** Parts of the machine and of VS Code that a test replaces. */
export interface FollowingParts {
  readonly door: FollowingDoor;
  readonly memory: vscode.Memento;
  /** Returns whether agents keep conversations on this machine. */
  readonly hasConversations: () => Promise<boolean>;
  readonly folders: () => readonly string[];
  /** What another process that follows the conversations writes. */
  readonly live: { read(): Promise<Live | undefined>; start(changed: () => void): void; stop(): void };
  readonly failed: (error: unknown) => void;
}

export class Following implements vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<readonly FollowedConversation[]>();
  /** Fires with the rows that are new or have changed. */
  readonly onDidChange = this.#changed.event;
  readonly #asked = new vscode.EventEmitter<void>();
  /** Fires when there is a question, and when it was answered. */
  readonly onDidAsk = this.#asked.event;
  readonly #parts: FollowingParts;
  readonly #rows = new Map<string, FollowedConversation>();
  readonly #disposables: vscode.Disposable;
  #isOn = false;
  #isUnanswered = false;
  #keeping: KeepingQuestion | undefined;
  /** Whether the rows are those of another process, so that none needs to follow for this window. */
  #isRead = false;
  #isOnDesktop = false;
  #again: NodeJS.Timeout | undefined;
  #terminal: string | undefined;
  #chosen: string | undefined;

  constructor(parts: FollowingParts) {
    this.#parts = parts;
    this.#disposables = vscode.Disposable.from(
      this.#changed,
      this.#asked,
      { dispose: () => { clearTimeout(this.#again); parts.live.stop(); } },
      parts.door.onDidFollow(({ rows, gone, desktop }) => { this.#take(rows, gone, desktop); }),
      // A server that was started again, or for something else, follows nothing yet.
      parts.door.onDidChangeHealth((health) => { if (health.kind === 'running' && this.#isOn) this.#run(this.#start()); }),
    );
  }

  dispose(): void {
    this.#disposables.dispose();
  }

  /** Whether the user is told what is due by notifications of the operating system. */
  get isOnDesktop(): boolean {
    return this.#isOnDesktop;
  }

  get isOn(): boolean {
    return this.#isOn;
  }

  /** What the user is asked and has not answered, or undefined. Until there is a yes, no conversation is read. */
  get question(): string | undefined {
    return this.#isUnanswered ? QUESTION : undefined;
  }

  /** Whether the user has still to say whether conversations are kept. Until there is a yes, none is. */
  get asksToKeep(): boolean {
    return this.#keeping !== undefined;
  }

  /** Whether the user has agreed that conversations are read. */
  get isAllowed(): boolean {
    return consent() === 'on';
  }

  get rows(): readonly FollowedConversation[] {
    return [...this.#rows.values()];
  }

  /** What this window shows. */
  get shown(): Shown {
    return choose(this.rows, this.#parts.folders(), this.#terminal, this.#chosen);
  }

  row(sessionId: string | undefined): FollowedConversation | undefined {
    return sessionId === undefined ? undefined : this.#rows.get(sessionId);
  }

  /** Shows a conversation no longer, which was forgotten, until it goes on. */
  drop(sessionId: string): void {
    this.#take([], [sessionId]);
  }

  /** Says which conversation the active terminal has, if any. */
  setTerminal(sessionId: string | undefined): void {
    if (this.#terminal === sessionId) return;
    this.#terminal = sessionId;
    this.#changed.fire([]);
  }

  /** Says which conversation the user has chosen to see, if any. */
  setChosen(sessionId: string | undefined): void {
    if (this.#chosen === sessionId) return;
    this.#chosen = sessionId;
    this.#changed.fire([]);
  }

  /** Follows if the user has agreed, and asks if the user has not answered yet, as soon as there are conversations. */
  async begin(): Promise<void> {
    clearTimeout(this.#again);
    if (consent() === 'off' || this.#isOn) return;
    if (!(await this.#parts.hasConversations())) {
      // An agent may have its first conversation while this window is open.
      this.#again = setTimeout(() => { this.#run(this.begin()); }, LOOK_AGAIN);
      return;
    }
    if (consent() === 'on') return this.#turnOn();
    if (this.#isUnanswered) return;
    this.#setUnanswered(true);
    if (!this.#parts.memory.get<boolean>(CLOSED, false)) await this.#askInPassing();
  }

  /** Asks in a message, which VS Code hides after some seconds. Closing it is no answer. */
  async #askInPassing(): Promise<void> {
    const answer = await vscode.window.showInformationMessage(QUESTION, FOLLOW, NO);
    if (answer !== undefined) await this.answer(answer === FOLLOW);
    else if (this.#isUnanswered) await this.#parts.memory.update(CLOSED, true);
  }

  /** Asks in a list that stays until the user answers or closes it, also after a no. Closing it is no answer. */
  async ask(): Promise<void> {
    const items = [{ label: FOLLOW, yes: true }, { label: NO, yes: false }];
    const chosen = await vscode.window.showQuickPick(items, { title: l10n.t('Conversations of Agents'), placeHolder: QUESTION, ignoreFocusOut: true });
    if (chosen) await this.answer(chosen.yes);
  }

  /** Keeps the user's answer in the settings. */
  async answer(yes: boolean): Promise<void> {
    await vscode.workspace.getConfiguration('ullage').update('followAgents', yes ? 'on' : 'off', vscode.ConfigurationTarget.Global);
    await this.configure();
  }

  #setUnanswered(is: boolean): void {
    if (this.#isUnanswered === is) return;
    this.#isUnanswered = is;
    this.#asked.fire();
  }

  /** Follows the setting after it was changed. */
  async configure(): Promise<void> {
    if (consent() !== 'ask') this.#setUnanswered(false);
    if (consent() === 'on') return this.begin();
    clearTimeout(this.#again);
    if (!this.#isOn) return;
    this.#isOn = false;
    this.#setKeeping(undefined);
    this.#take([], [...this.#rows.keys()]);
    if (this.#isRead) this.#leaveFile();
    else await this.#parts.door.request(FollowingStop, {});
  }

  /** Reads what another process writes while there is one and this window has no server; else has the server follow. */
  async #turnOn(): Promise<void> {
    this.#isOn = true;
    if (this.#parts.door.health.kind === 'running' || !(await this.#readFile())) return this.#start();
    this.#parts.live.start(() => { this.#run(this.#readAgain()); });
  }

  async #start(): Promise<void> {
    this.#leaveFile();
    const { rows, keeping, desktop } = await this.#parts.door.request(FollowingStart, { folders: [...this.#parts.folders()] });
    // The user may have turned it off meanwhile.
    if (!this.#isOn) return;
    this.#take(rows, [], desktop);
    this.#setKeeping(keeping ?? undefined);
    if (keeping && !this.#parts.memory.get<boolean>(KEEPING_CLOSED, false)) this.#run(this.#askToKeepInPassing());
  }

  #setKeeping(question: KeepingQuestion | undefined): void {
    if (this.#keeping === question) return;
    this.#keeping = question;
    this.#asked.fire();
  }

  async #askToKeepInPassing(): Promise<void> {
    const answer = await vscode.window.showInformationMessage(MAY_KEEP, KEEP, NO, MORE);
    if (answer === MORE) await this.askToKeep();
    else if (answer !== undefined) await this.#keep(answer === KEEP);
    if (this.asksToKeep) await this.#parts.memory.update(KEEPING_CLOSED, true);
  }

  /** Asks with what would be kept, where and how that ends. Closing it is no answer. */
  async askToKeep(): Promise<void> {
    if (!this.#keeping) return;
    const { conversations, size, path: archive, limit } = this.#keeping;
    const room = limit === null ? l10n.t('It has no limit.') : l10n.t('It takes at most {0} GB.', limit / 1e9);
    const detail = [
      l10n.t('What: the conversations on this machine, {0} now ({1} MB), and what is added to them, with all that was said and read.', full(conversations), full(Math.ceil(size / 1e6))),
      `${l10n.t('Where: {0}, which only you may read, compressed.', archive)} ${room}`,
      l10n.t('To stop it: the setting {0}. To remove one: Forget a Conversation…', 'ullage.archive.enabled'),
    ].join('\n\n');
    const answer = await vscode.window.showInformationMessage(MAY_KEEP, { modal: true, detail }, KEEP, NO);
    if (answer !== undefined) await this.#keep(answer === KEEP);
  }

  async #keep(keep: boolean): Promise<void> {
    await this.#parts.door.request(FollowingKeep, { keep });
    this.#setKeeping(undefined);
  }

  /** Takes the rows of the live file. Returns false if no process writes it. */
  async #readFile(): Promise<boolean> {
    const live = await this.#parts.live.read();
    if (!live) return false;
    this.#isRead = this.#isOn;
    if (!this.#isOn) return true;
    const listed = new Set(live.rows.map(({ sessionId }) => sessionId));
    const changed = live.rows.filter((row) => JSON.stringify(row) !== JSON.stringify(this.#rows.get(row.sessionId)));
    const gone = [...this.#rows.keys()].filter((sessionId) => !listed.has(sessionId));
    if (changed.length > 0 || gone.length > 0) this.#take(changed, gone, live.desktop);
    return true;
  }

  async #readAgain(): Promise<void> {
    if (!this.#isRead || (await this.#readFile())) return;
    // The process has ended. Of several windows that see it, one follows, and the others read what that one stores.
    // Beginning twice does no harm: a server that follows goes on.
    if (this.#isOn) await this.#start();
  }

  #leaveFile(): void {
    this.#isRead = false;
    this.#parts.live.stop();
  }

  #take(rows: readonly FollowedConversation[], gone: readonly string[], isOnDesktop = this.#isOnDesktop): void {
    this.#isOnDesktop = isOnDesktop;
    for (const sessionId of gone) this.#rows.delete(sessionId);
    for (const row of rows) this.#rows.set(row.sessionId, row);
    this.#changed.fire(rows);
  }

  #run(work: Promise<unknown>): void {
    work.catch((error: unknown) => { this.#parts.failed(error); });
  }
}

/** Returns the user's answer: no folder can give it, because the setting is the application's. */
export function consent(): string {
  return vscode.workspace.getConfiguration('ullage').get<string>('followAgents', 'ask');
}
