/** The extension as a whole: the object that owns everything, and the table of commands. `main.ts` loads it, once the display language is known. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import type { Command } from './commands/guard';
import { Connection, errorText } from './connection';
import { ConversationTree } from './conversations';
import { Differences, MessageDocuments, Preview } from './documents';
import { agentsHere, consent, Following, hasConversations, LiveFile } from './following';
import { GET_PYTHON, type Health, HealthItem, isTrouble, NOT_SET_UP } from './health';
import { EditorModels, registerParticipant, registerTools } from './languageModels';
import { Notices, Warnings } from './notices';
import { type Method, SessionLoad } from './protocol.gen';
import { NO_PYTHON, ServerLocator } from './server';
import { findTranscripts, folder, Sessions } from './sessions';
import { Keys, Settings } from './settings';
import { isQuiet, StatusBar } from './statusBar';
import { Terminals } from './terminals';
import { ContextView } from './view/contextView';
import { asMessage } from './words';

type All = typeof import('./commands/all');
/** Chooses a command among all. */
type Choice = (all: All) => Command;

const COMMANDS: Readonly<Record<string, Choice>> = {
  'ullage.compact': ({ compaction }) => compaction.choose,
  'ullage.compactContext': ({ compaction }) => compaction.compact,
  'ullage.cancelCompaction': ({ compaction }) => compaction.cancel,
  'ullage.previewCompaction': ({ compaction }) => compaction.preview,
  'ullage.acceptPreview': ({ compaction }) => compaction.acceptPreview,
  'ullage.discardPreview': ({ compaction }) => compaction.discardPreview,
  'ullage.undoCompaction': ({ compaction }) => compaction.undo,
  'ullage.search': ({ compaction }) => compaction.search,
  'ullage.searchArchive': ({ compaction }) => compaction.searchSession,
  'ullage.showAgents': ({ agents }) => agents.showAll,
  'ullage.follow': ({ agents }) => agents.follow,
  'ullage.followNone': ({ agents }) => agents.followNone,
  'ullage.askToKeep': ({ agents }) => agents.askToKeep,
  'ullage.openConversation': ({ agents }) => agents.open,
  'ullage.openFollowSetting': ({ agents }) => agents.openSetting,
  'ullage.continueSession': ({ agents }) => agents.continueSession,
  'ullage.wire': ({ agents }) => agents.wire,
  'ullage.showContext': ({ sessions }) => sessions.showContext,
  'ullage.switchSession': ({ sessions }) => sessions.switchTo,
  'ullage.forkSession': ({ sessions }) => sessions.fork,
  'ullage.forgetConversation': ({ sessions }) => sessions.forget,
  'ullage.setWindow': ({ sessions }) => sessions.setWindow,
  'ullage.importTranscript': ({ sessions }) => sessions.importTranscript,
  'ullage.importSample': ({ sessions }) => sessions.importSample,
  'ullage.exportSession': ({ sessions }) => sessions.exportSession,
  'ullage.pinMessage': ({ messages }) => messages.pin,
  'ullage.restartServer': ({ server }) => server.restart,
  'ullage.setUpServer': ({ server }) => server.setUp,
  'ullage.showProblem': ({ server }) => server.showProblem,
  'ullage.openServerSetting': ({ server }) => server.openSetting,
  'ullage.openPythonSetting': ({ server }) => server.openPythonSetting,
  'ullage.openSettings': ({ server }) => server.openSettings,
  'ullage.chooseModel': ({ server }) => server.choose,
  'ullage.openModelSetting': ({ server }) => server.openModelSetting,
  'ullage.setKey': ({ server }) => server.setKey,
  'ullage.showLogs': ({ server }) => server.showLogs,
  'ullage.copyDiagnostics': ({ server }) => server.copyDiagnostics,
};

export function registerCommands(ullage: Ullage): vscode.Disposable {
  return vscode.Disposable.from(
    ...Object.entries(COMMANDS).map(([id, choose]) => vscode.commands.registerCommand(id, async (...args: readonly unknown[]) => {
      const all = await import('./commands/all');
      await all.guarded(ullage, choose(all))(...args);
    })),
  );
}

export class Ullage implements vscode.Disposable {
  readonly log = vscode.window.createOutputChannel('Ullage', { log: true });
  readonly preview = new Preview();
  /** Fires when messages were pinned or unpinned. The server sends no update for that. */
  readonly pinsChanged = new vscode.EventEmitter<void>();
  readonly messages = new MessageDocuments();
  readonly differences = new Differences();
  readonly connection: Connection;
  readonly sessions: Sessions;
  readonly following: Following;
  readonly terminals: Terminals;
  readonly notices: Notices;
  readonly version: string;
  /** The file of the conversation that the extension brings along. */
  readonly sample: string;
  readonly keys: Keys;
  readonly settings: Settings;
  readonly editorModels: EditorModels;
  /** Whether the Context view is open. Set where the view is made. */
  isViewShown: () => boolean = () => false;
  /** Whether the tree of conversations is open. Set where the tree is made. */
  isTreeShown: () => boolean = () => false;
  readonly #disposables: vscode.Disposable;
  readonly #memory: vscode.Memento;

  constructor(context: vscode.ExtensionContext) {
    const packageJson = context.extension.packageJSON as { readonly version: string };
    this.version = packageJson.version;
    this.sample = context.asAbsolutePath('bundled/sample.jsonl');
    this.#memory = context.globalState;
    this.keys = new Keys(context);
    this.settings = new Settings(context, () => { this.run(this.#pushSettings()); });
    this.editorModels = new EditorModels(context.globalState);
    const { log, keys, settings, version, editorModels } = this;
    this.connection = new Connection({ locator: new ServerLocator(context, log), log, keys, settings, version, editorModels });
    this.following = new Following({
      door: this.connection,
      memory: context.globalState,
      hasConversations,
      folders,
      live: new LiveFile(vscode.workspace.getConfiguration('ullage').get('store', '')),
      failed: (error) => { this.log.error(errorText(error)); },
    });
    this.sessions = new Sessions(this.connection, context.workspaceState, (model) => editorModels.nameOf(model), this.following);
    this.terminals = new Terminals(this.following);
    this.notices = new Notices(this.sessions, context.workspaceState, () => this.isViewShown());
    this.#disposables = vscode.Disposable.from(
      ...this.#listeners(),
      new StatusBar(this.connection, this.sessions, this.following),
      new Warnings(this.following, context.globalState, isQuiet),
      this.terminals,
      this.following,
      new HealthItem(this.connection),
      this.notices,
      this.editorModels, this.settings,
      this.sessions,
      this.connection,
      this.preview,
      this.pinsChanged,
      this.messages, this.differences,
      this.log,
    );
  }

  #listeners(): readonly vscode.Disposable[] {
    const { sessions, following } = this;
    return [
      following.onDidChange(() => { this.run(this.showSubject()); }),
      this.connection.onDidChangeHealth((health) => { this.#onHealth(health); }),
      sessions.onDidChangeSession(() => { this.run(this.showSubject()); }),
      ...[sessions.onDidChangeSession, sessions.onDidChangeUsage, following.onDidChange].map((changed) => changed(() => { this.#showAbilities(); })),
      sessions.onDidChangeCompaction((run) => { setContext('compacting', run !== undefined); }),
      vscode.workspace.onDidChangeConfiguration((change) => { this.#configure(change); }),
      vscode.workspace.onDidGrantWorkspaceTrust(() => { this.run(this.#searchAgain()); }),
    ];
  }

  /** Runs work without waiting for it. A failure is logged. */
  run(work: Promise<unknown>): void {
    work.catch((error: unknown) => { this.log.error(errorText(error)); });
  }

  dispose(): void {
    this.#disposables.dispose();
  }

  /**
   * Has the Context view show the agent's conversation that the status bar shows, while the views are open and the user
   * has chosen no session.
   */
  async showSubject(): Promise<void> {
    this.following.setChosen(this.isViewShown() && this.#hasChosen() ? this.sessions.activeSessionId : undefined);
    const { subject } = this.following.shown;
    const { sessions } = this;
    if (!(this.isViewShown() || this.isTreeShown()) || !subject || this.#hasChosen() || sessions.activeSessionId === subject.sessionId) return;
    const session = await sessions.request(SessionLoad, { sessionId: subject.sessionId });
    // The user may have chosen one meanwhile.
    if (!this.#hasChosen()) await sessions.activate(session, false);
  }

  /** The session that commands on an agent's conversation are about: the active one, else the one that the status bar shows. */
  get subjectId(): string | undefined {
    return this.sessions.activeSessionId ?? this.following.shown.subject?.sessionId;
  }

  /** Says what commands can do, so that none is offered that would be refused. */
  #showAbilities(): void {
    const { sessions: { usage, lastEdit }, following } = this;
    // A conversation that an agent has is only read.
    const isOwn = usage !== undefined && usage.meta.followed === null;
    setContext('hasSession', this.sessions.activeSessionId !== undefined);
    setContext('hasAgents', following.shown.subject !== undefined);
    setContext('isOwn', isOwn);
    setContext('canUndo', isOwn && lastEdit !== undefined);
    setContext('limitUnknown', isOwn && usage.size === null);
  }

  #hasChosen(): boolean {
    return this.sessions.isChosen;
  }

  /** Starts the server where a session waits for it. In other windows it starts when it is needed. */
  begin(): void {
    this.#showAbilities();
    setContext('consent', consent());
    this.run(this.settings.tell());
    this.run(agentsHere().then((here) => { setContext('canContinue', here.length > 0); }));
    this.run(this.sessions.activeSessionId === undefined ? this.connection.look() : this.connection.restart());
    this.run(this.following.begin());
  }

  #onHealth(health: Health): void {
    setContext('serverRunning', health.kind === 'running');
    setContext('serverMissing', health.kind === 'missing');
    setContext('serverTrouble', isTrouble(health));
    if (health.kind === 'running') this.run(this.sessions.reload());
    if (health.kind === 'running' && health.misfit !== '') this.run(this.#offerOwn(health.misfit));
    if (health.kind === 'missing') this.run(this.#offerSetUp(health.lacksPython));
  }

  /** Offers to set up the server, or to get a Python, once on a machine. Status bar, view and commands offer it from then on. */
  async #offerSetUp(lacksPython: boolean): Promise<void> {
    if (this.#memory.get<boolean>(OFFERED, false)) return;
    await this.#memory.update(OFFERED, true);
    const text = lacksPython ? NO_PYTHON : NOT_SET_UP;
    const setUp = lacksPython ? GET_PYTHON : l10n.t('Set it up for me');
    const chosen = await vscode.window.showInformationMessage(text, setUp, l10n.t('Other ways…'));
    if (chosen) await vscode.commands.executeCommand(chosen === setUp ? 'ullage.setUpServer' : 'ullage.showProblem');
  }

  /** Offers the server of this extension in place of one that does not fit. */
  async #offerOwn(misfit: string): Promise<void> {
    const chosen = await vscode.window.showWarningMessage(asMessage(misfit), l10n.t("Use the extension's own"), SHOW_LOG);
    if (chosen) await vscode.commands.executeCommand(chosen === SHOW_LOG ? 'ullage.showLogs' : 'ullage.setUpServer');
  }

  #configure(change: vscode.ConfigurationChangeEvent): void {
    if (change.affectsConfiguration('ullage.server')) this.run(this.#searchAgain());
    else if (change.affectsConfiguration('ullage.followAgents')) {
      setContext('consent', consent());
      this.run(this.following.configure());
    }
    else if (change.affectsConfiguration('ullage')) this.run(this.#pushSettings());
  }

  /** Looks for the server at its new place. A server that nothing has needed yet stays off. */
  #searchAgain(): Promise<void> {
    return this.connection.health.kind === 'idle' ? this.connection.look() : this.connection.restart();
  }

  async #pushSettings(): Promise<void> {
    await this.connection.pushSettings();
    await this.sessions.refresh();
  }
}

const SHOW_LOG = l10n.t('Show log');
/** Whether setting up was offered on this machine. */
const OFFERED = 'ullage.offeredSetUp';

export function folders(): readonly string[] {
  return (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri.fsPath);
}

const contexts = new Map<string, unknown>();

/** Sets a context key for the `when` clauses of the manifest. */
function setContext(name: string, value: boolean | string): void {
  if (contexts.get(name) === value) return;
  contexts.set(name, value);
  void vscode.commands.executeCommand('setContext', `ullage.${name}`, value);
}

/** The most earlier conversations that the tree lists. */
const FOUND = 50;

let ullage: Ullage | undefined;

/** The interface for other extensions, and for the tests. */
export interface Api {
  request<P, R>(method: Method<P, R>, params: NoInfer<P>): Promise<R>;
}

/** Returns immediately. The server starts when a session, a command or, after the user has agreed, the view needs it; commands say if that fails. */
export function activate(context: vscode.ExtensionContext): Api {
  const own = (ullage = new Ullage(context));
  const parts = {
    model: own.sessions,
    connection: own.connection,
    terminals: own.terminals,
  };
  const view = new ContextView(context.extensionUri, parts, () => { own.run(own.showSubject()); });
  own.isViewShown = () => view.isShown;
  const tree = new ConversationTree({
    following: own.following,
    folders,
    find: () => findTranscripts(own.connection, folder(), FOUND),
    active: () => own.sessions.activeSessionId,
    onDidChangeActive: own.sessions.onDidChangeSession,
    shown: () => { own.run(own.showSubject()); },
  });
  own.isTreeShown = () => tree.isShown;
  const subject = {
    get subjectId() { return own.subjectId; },
    get isFollowed() { return own.following.row(own.subjectId) !== undefined; },
    request: own.connection.request.bind(own.connection),
    nameOf: own.editorModels.nameOf.bind(own.editorModels),
    telling: own.notices.telling.bind(own.notices),
  };
  const icon = vscode.Uri.joinPath(context.extensionUri, 'images/activity.svg');
  context.subscriptions.push(registerTools(subject), registerParticipant(subject, icon));
  context.subscriptions.push(own, registerCommands(own), view, tree, own.pinsChanged.event(() => { view.refresh(); }));
  own.begin();
  return { request: (method, params) => own.connection.request(method, params) };
}

export async function deactivate(): Promise<void> {
  await ullage?.connection.stop();
}
