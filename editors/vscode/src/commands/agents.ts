/** Commands on the conversations of agents: what can be done about a full one, a new session of an agent that continues one, and Ullage in agents' settings. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import { errorKind, errorText, isCancelled } from '../connection';
import type { Ullage } from '../extension';
import {
  AgentsUnwire,
  AgentsWire,
  ContinuingChoices,
  type ContinuingChoicesResult,
  ContinuingPreview,
  type ContinuingPreviewParams,
  type ContinuingResult,
  ContinuingWrite,
  type FollowedConversation,
  type Method,
  SessionFork,
  SessionLoad,
  type WiredAgent,
  type WireParams,
  type WiringOption,
  type WiringResult,
  writableAgents,
} from '../protocol.gen';
import { anyOf, asLabel, full, inPercent, messages } from '../words';
import { activeSession, type Command, withProgress } from './guard';
import { pickAnyMessage } from './messages';

/** Milliseconds between the command and its Enter key. Agents take what comes faster for a pasted text, of which Enter is a part. */
const PAUSE = 300;

/** Shows the tree of conversations. Where nothing is followed, asks whether that is wanted. */
export const showAll: Command = async (ullage) => {
  if (!ullage.following.isAllowed) return ullage.following.ask();
  await vscode.commands.executeCommand('ullage.agents.focus');
};

export const follow: Command = (ullage) => ullage.following.answer(true);
export const followNone: Command = (ullage) => ullage.following.answer(false);
export const askToKeep: Command = (ullage) => ullage.following.askToKeep();

/** Shows a conversation in the Context view. The focus stays where it is, so that the next one can be chosen. */
export const open: Command = async (ullage, given) => {
  const sessionId = sessionOf(given);
  if (sessionId === undefined) return;
  await ullage.sessions.activate(await ullage.sessions.request(SessionLoad, { sessionId }));
  await vscode.commands.executeCommand('ullage.context.focus', { preserveFocus: true });
};

/** Returns the session that a command is given: by its id, or as a row of the tree. */
export function sessionOf(given: unknown): string | undefined {
  if (typeof given === 'string') return given;
  const { sessionId } = (given ?? {}) as { readonly sessionId?: unknown };
  return typeof sessionId === 'string' ? sessionId : undefined;
}

export const openSetting: Command = async () => {
  await vscode.commands.executeCommand('workbench.action.openSettings', 'ullage.followAgents');
};

/** A conversation that an agent keeps. `compactCommand` is empty if it is not known how the agent compacts. */
export type Kept = Pick<FollowedConversation, 'sessionId' | 'agent' | 'compactCommand' | 'takesFocus'>;

/** Offers what can be done about a full conversation that an agent has: in the agent, in a new session of it, or in a fork. */
export async function offerCompaction(ullage: Ullage, row: Kept, given = ''): Promise<void> {
  const terminal = await ullage.terminals.of(row.sessionId);
  const focus = row.takesFocus ? (given || (await askFocus())) : '';
  if (focus === undefined) return;
  const command = [row.compactCommand, focus].filter(Boolean).join(' ');
  const chosen = await vscode.window.showQuickPick([...keptWays(row, command, terminal), ...(row.sessionId === ullage.subjectId ? [CONTINUE] : [])], {
    title: l10n.t('{0} has this conversation; Ullage only reads it', row.agent),
    placeHolder: l10n.t('What is to be done?'),
  });
  await chosen?.run(ullage);
}

interface KeptWay extends vscode.QuickPickItem {
  readonly run: (ullage: Ullage) => Promise<unknown>;
}

const CONTINUE: KeptWay = {
  label: `$(debug-continue) ${l10n.t('Continue in a New Session…')}`,
  detail: l10n.t('A session of an agent with this conversation: compacted, or as it was before a compaction.'),
  run: async () => { await vscode.commands.executeCommand('ullage.continueSession'); },
};

function keptWays(row: Kept, command: string, terminal: vscode.Terminal | undefined): readonly KeptWay[] {
  const fork: KeptWay = {
    label: `$(repo-forked) ${l10n.t('Fork it, and compact the fork')}`,
    detail: l10n.t('A conversation of Ullage’s own with everything said so far. {0}’s conversation stays as it is.', row.agent),
    run: (ullage) => forkAndCompact(ullage, row.sessionId),
  };
  if (!row.compactCommand) return [fork];
  const copy: KeptWay = { label: `$(copy) ${l10n.t('Copy {0}', asLabel(command))}`, detail: l10n.t('To type it in {0} yourself.', row.agent), run: () => copyCommand(command) };
  if (!terminal) return [copy, fork];
  const send: KeptWay = {
    label: `$(terminal) ${l10n.t('Send {0} to the terminal “{1}”', asLabel(command), asLabel(terminal.name))}`,
    detail: l10n.t('{0} runs there. You are asked before anything is sent.', row.agent),
    run: () => sendTo(terminal, command, row.agent),
  };
  return [send, copy, fork];
}

function askFocus(): Thenable<string | undefined> {
  return vscode.window.showInputBox({
    title: l10n.t('Compact Context'),
    prompt: l10n.t('What should the summary keep above all? May be empty. Nothing is sent before you have chosen how.'),
    placeHolder: l10n.t('the failing token refresh and what was tried'),
  });
}

async function copyCommand(command: string): Promise<void> {
  await vscode.env.clipboard.writeText(command);
  vscode.window.setStatusBarMessage(l10n.t('Copied: {0}', command), 4_000);
}

async function sendTo(terminal: vscode.Terminal, command: string, agent: string): Promise<void> {
  terminal.show(false);
  const send = l10n.t('Send');
  const detail = l10n.t('“{0}” is typed into the terminal “{1}”, and Enter is pressed. What you have typed there without sending it becomes part of it.', command, terminal.name);
  const answer = await vscode.window.showWarningMessage(l10n.t('Compact {0}’s conversation?', agent), { modal: true, detail }, send);
  // One line: a line break would send what follows it as another prompt.
  if (answer !== send) return;
  terminal.sendText(command.replace(/[\r\n]+/g, ' '), false);
  await new Promise((resolve) => setTimeout(resolve, PAUSE));
  terminal.sendText('\r', false);
}

async function forkAndCompact(ullage: Ullage, sessionId: string): Promise<void> {
  await ullage.sessions.activate(await ullage.sessions.request(SessionFork, { sessionId }));
  await vscode.commands.executeCommand('ullage.compactContext');
}

/** Shows all ways to continue the conversation, each with its figure. */
export const continueSession: Command = async (ullage, given) => {
  const sessionId = sessionOf(given) ?? subject(ullage);
  const choices = await ullage.sessions.request(ContinuingChoices, { sessionId });
  if (choices.agents.length === 0) {
    const known = anyOf(writableAgents.map(({ agent }) => agent));
    throw new Error(l10n.t('No agent in which this conversation could be continued is on this machine. Start {0} once.', known));
  }
  const chosen = await pickWay(ullage, sessionId, waysOf(choices));
  if (!chosen) return;
  if (chosen.preview) await resume(ullage, chosen.preview, { sessionId, ...chosen.way.params });
  else await continueAfter(ullage, sessionId);
};

function subject(ullage: Ullage): string {
  return ullage.subjectId ?? activeSession(ullage);
}

async function continueAfter(ullage: Ullage, sessionId: string): Promise<void> {
  const message = await pickAnyMessage(ullage, sessionId, l10n.t('Continue as it was after this message'));
  if (message) await previewAndResume(ullage, { sessionId, messageId: message.messageId });
}

async function previewAndResume(ullage: Ullage, params: ContinuingPreviewParams): Promise<void> {
  await resume(ullage, await plan(ullage, params), params);
}

function plan(ullage: Ullage, params: ContinuingPreviewParams): Thenable<ContinuingResult> {
  return withProgress(l10n.t('Planning a new session'), (_, token) => ullage.sessions.request(ContinuingPreview, params, token));
}

interface WayItem extends vscode.QuickPickItem {
  readonly way: Way;
  readonly preview?: ContinuingResult;
}

/** Lets the user choose a way. The figures come one after the other; a way that is not possible says why, and can't be chosen. */
async function pickWay(ullage: Ullage, sessionId: string, ways: readonly Way[]): Promise<WayItem | undefined> {
  const pick = vscode.window.createQuickPick<WayItem>();
  const source = new vscode.CancellationTokenSource();
  pick.title = l10n.t('Continue in a New Session');
  pick.placeholder = l10n.t('Nothing is written yet, and this conversation stays as it is');
  pick.ignoreFocusOut = true;
  pick.matchOnDescription = true;
  pick.items = ways.map((way) => ({ way, label: way.label, description: way.description, detail: way.params ? l10n.t('Counting…') : l10n.t('Choose the message next') }));
  try {
    return await new Promise((resolve) => {
      pick.onDidAccept(() => {
        const [item] = pick.activeItems;
        if (item && (item.preview ?? !item.way.params)) resolve(item);
      });
      pick.onDidHide(() => { resolve(undefined); });
      pick.show();
      void fillIn(ullage, sessionId, pick, source.token);
    });
  } finally {
    source.cancel();
    pick.dispose();
  }
}

async function fillIn(ullage: Ullage, sessionId: string, pick: vscode.QuickPick<WayItem>, token: vscode.CancellationToken): Promise<void> {
  pick.busy = true;
  for (const [at, { way }] of pick.items.entries()) {
    if (!way.params) continue;
    const known = await ullage.sessions.request(ContinuingPreview, { sessionId, ...way.params }, token).then(
      (preview) => ({ preview, detail: [figureOf(preview), ...preview.notes].join(' · ') }),
      (error: unknown) => (isCancelled(error) ? undefined : { detail: `$(circle-slash) ${asLabel(errorText(error))}` }),
    );
    // The user has chosen, or gone.
    if (!known || token.isCancellationRequested) return;
    const [active] = pick.activeItems;
    pick.items = pick.items.map((item, place) => (place === at ? { ...item, ...known } : item));
    // New items move the highlight to the first one.
    const again = pick.items.find((item) => item.way === active?.way);
    if (again) pick.activeItems = [again];
  }
  pick.busy = false;
}

interface Step extends vscode.QuickPickItem {
  readonly act: () => Promise<void>;
}

/**
 * Shows the figure of a new session, which has these params. If the user agrees, writes it and resumes it in a terminal.
 * One that its agent may compact at once can be compacted by Ullage instead.
 */
async function resume(ullage: Ullage, preview: ContinuingResult, params: ContinuingPreviewParams): Promise<void> {
  const compacted = { ...params, compacted: true };
  const write = (): Thenable<ContinuingResult> => ullage.sessions.request(ContinuingWrite, { previewId: preview.previewId });
  const instead: Step = {
    label: `$(fold) ${l10n.t('Compact it first, by Ullage')}`,
    detail: l10n.t('Shows the figure of that before anything is written'),
    act: async () => { await resume(ullage, await plan(ullage, compacted), compacted); },
  };
  const steps: readonly Step[] = [
    ...(preview.fits || preview.before !== null || params.compacted ? [] : [instead]),
    { label: `$(terminal) ${l10n.t('Write it, and resume it in a terminal')}`, detail: asLabel(l10n.t({ message: '{0} in {1}', args: [preview.command.join(' '), preview.cwd], comment: ['A command and the folder in which it runs.'] })), act: async () => { resumeInTerminal(await write()); } },
    { label: `$(copy) ${l10n.t('Write it, and copy the command')}`, detail: asLabel(preview.path), act: async () => { await copyResume(await write()); } },
  ];
  const chosen = await vscode.window.showQuickPick(steps, {
    title: `${preview.agent}: ${figureOf(preview)}`,
    placeHolder: preview.notes.join(' ') || l10n.t('A new session. This conversation stays as it is.'),
    ignoreFocusOut: true,
  });
  if (!chosen) return;
  try {
    await chosen.act();
  } catch (error) {
    if (errorKind(error) !== 'PreviewExpired') throw error;
    throw new Error(l10n.t('{0} Choose the command again.', errorText(error)), { cause: error });
  }
}

function resumeInTerminal({ agent, cwd, command }: ContinuingResult): void {
  const terminal = vscode.window.createTerminal({ name: agent, cwd });
  terminal.show(false);
  // The user's shell knows where the agent's program is; VS Code may not.
  terminal.sendText(commandLine(command, process.platform === 'win32'));
}

async function copyResume({ shell }: ContinuingResult): Promise<void> {
  await vscode.env.clipboard.writeText(shell);
  vscode.window.setStatusBarMessage(l10n.t('Copied: {0}', shell), 4_000);
}

/**
 * One way to continue a conversation. The label begins with what differs, because a narrow picker cuts its end. `params`
 * are missing where the user has to choose a message first.
 */
export interface Way {
  readonly label: string;
  readonly description: string;
  readonly params: Omit<ContinuingPreviewParams, 'sessionId'> | undefined;
}

/** Returns the ways to continue a conversation, those in its own agent first. */
export function waysOf({ agents, beforeCompaction }: ContinuingChoicesResult): readonly Way[] {
  const own = agents.find((agent) => agent.own);
  const others = agents.filter((agent) => !agent.own);
  const inOwn: readonly Way[] = own
    ? [
        { label: `$(fold) ${l10n.t('Compacted · {0}', own.agent)}`, description: l10n.t('older messages become a summary'), params: {} },
        ...(beforeCompaction
          ? [{ label: `$(discard) ${l10n.t('Before compaction · {0}', own.agent)}`, description: l10n.t('as it was before {0} compacted', own.agent), params: { beforeCompaction: true } }]
          : []),
        { label: `$(history) ${l10n.t('After a message… · {0}', own.agent)}`, description: l10n.t('as it was then'), params: undefined },
      ]
    : [];
  const inOthers = others.flatMap(({ agent, word }): readonly Way[] => [
    { label: `$(arrow-swap) ${l10n.t('Whole · {0}', agent)}`, description: l10n.t('all of the context'), params: { agent: word, compacted: false } },
    { label: `$(arrow-swap) ${l10n.t('Compacted · {0}', agent)}`, description: l10n.t('older messages become a summary'), params: { agent: word, compacted: true } },
  ]);
  return [...inOwn, ...inOthers];
}

/** Returns how full the new session will be: `31,240 of 200,000 tokens (16%), 92,160 before · 14 messages, 44 left out`. */
export function figureOf({ used, size, before, messages: kept, leftOut }: ContinuingResult): string {
  const now = size === null ? l10n.t('{0} tokens', full(used)) : l10n.t('{0} of {1} tokens ({2})', full(used), full(size), inPercent(used, size));
  const sizes = before === null ? now : l10n.t({ message: '{0}, {1} before', args: [now, full(before)], comment: ['A size in tokens, and the size before.'] });
  return `${sizes} · ${leftOut > 0 ? l10n.t('{0}, {1} left out', messages(kept), full(leftOut)) : messages(kept)}`;
}

/** Returns a command as a line for a shell. A word that a shell would take for more than one is quoted. */
export function commandLine(words: readonly string[], windows: boolean): string {
  return words.map((word) => (/^[\w@%+=:,./\\-]+$/.test(word) ? word : quoted(word, windows))).join(' ');
}

function quoted(word: string, windows: boolean): string {
  return windows ? `"${word.replaceAll('"', '""')}"` : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** What differs between adding and taking out. */
interface Direction {
  readonly method: Method<WireParams, WiringResult>;
  readonly question: (agent: string) => string;
  readonly yes: string;
  readonly done: (agent: string) => string;
  /** What is said of an agent with nothing to change. */
  readonly same: (agent: string) => string;
}

/** What the user has chosen of an agent's options. What is missing stays as it is. */
type Chosen = Pick<WireParams, WiringOption['name']>;

/** The button that lets the user choose, and the words for each option. */
const OPTIONS = l10n.t('Options…');
/** The button that takes Ullage out of an agent that has it. */
const OUT = l10n.t('Take Out…');
const WORDS: Readonly<Record<WiringOption['name'], { readonly label: string; readonly detail: string }>> = {
  fillNotes: { label: l10n.t('Notes of the fill'), detail: l10n.t('Its model is told how full the context is: at 70%, at 85%, and two calls before the compaction') },
  statusLine: { label: l10n.t('Status line'), detail: l10n.t('Its status line shows the figure, after what it shows already') },
};

const ADD: Direction = {
  method: AgentsWire,
  question: (agent) => l10n.t('Add this to {0}’s settings? When it has compacted, it then gets back what its summary left out.', agent),
  yes: l10n.t('Add'),
  done: (agent) => l10n.t('Added to {0}.', agent),
  same: (agent) => l10n.t('{0} has it already.', agent),
};
const TAKE_OUT: Direction = {
  method: AgentsUnwire,
  question: (agent) => l10n.t('Take this out of {0}’s settings?', agent),
  yes: l10n.t('Take Out'),
  done: (agent) => l10n.t('Taken out of {0}.', agent),
  same: (agent) => l10n.t('Nothing of Ullage is in {0}’s settings.', agent),
};

export const wire: Command = async (ullage) => {
  const { agents } = await ullage.sessions.request(AgentsWire, { dryRun: true });
  if (agents.length === 0) {
    void vscode.window.showInformationMessage(l10n.t('No agent is on this machine that Ullage can be added to.'));
    return;
  }
  await changeAll(ullage, ADD, await chooseAgents(agents, l10n.t('Give Back What Compactions Take')));
};

interface WiredItem extends vscode.QuickPickItem {
  readonly agent: WiredAgent;
}

/** Lets the user choose agents, if there are several. */
async function chooseAgents(agents: readonly WiredAgent[], title: string): Promise<readonly WiredAgent[]> {
  // The request for one that failed says why.
  if (agents.length === 1) return agents;
  const items = agents.map((agent): WiredItem => ({
    label: asLabel(agent.agent),
    description: agent.failed ? l10n.t("its settings can't be changed") : agent.files.length === 0 ? l10n.t('has it already') : '',
    detail: asLabel(agent.failed ? agent.notes.join(' ') : agent.path),
    picked: agent.files.length > 0,
    agent,
  }));
  const chosen = await vscode.window.showQuickPick(items, { title, placeHolder: l10n.t('In which agents? You see each change before it is made'), canPickMany: true });
  return (chosen ?? []).map(({ agent }) => agent);
}

async function changeAll(ullage: Ullage, direction: Direction, agents: readonly WiredAgent[]): Promise<void> {
  for (const { word } of agents.filter(({ files }) => files.length > 0)) await change(ullage, direction, word);
  // None of these waits until the user has closed what is said of another one.
  await Promise.all(agents.filter(({ files }) => files.length === 0).map(({ word }) => change(ullage, direction, word)));
}

/** Shows the change of an agent's settings, and makes it if the user agrees. If the files or the options change meanwhile, shows it again. */
async function change(ullage: Ullage, direction: Direction, word: string): Promise<void> {
  let chosen: Chosen = {};
  for (;;) {
    const preview = await ullage.sessions.request(direction.method, { agent: word, ...chosen, dryRun: true });
    const [agent] = preview.agents;
    if (!agent || preview.previewId === null) return;
    const isSame = agent.files.length === 0 && (direction === ADD || !agent.wired);
    const answer = isSame ? await saySame(direction, agent) : await ask(ullage, direction, agent);
    if (answer === OPTIONS) {
      chosen = (await chooseOptions(agent)) ?? chosen;
      continue;
    }
    if (answer === OUT) return change(ullage, TAKE_OUT, word);
    if (answer !== direction.yes) return;
    try {
      const made = await ullage.sessions.request(direction.method, { agent: word, ...chosen, previewId: preview.previewId });
      const notes = made.agents.flatMap((one) => one.notes);
      void vscode.window.showInformationMessage([direction.done(agent.agent), ...notes].join(' '));
      return;
    } catch (error) {
      if (errorKind(error) !== 'PreviewExpired') throw error;
    }
  }
}

/** Says that nothing is to be changed. Returns the button that the user chose, if any. */
async function saySame(direction: Direction, agent: WiredAgent): Promise<string | undefined> {
  const out = agent.wired && direction === ADD ? [OUT] : [];
  return vscode.window.showInformationMessage(direction.same(agent.agent), ...optionsButton(agent), ...out);
}

/** Shows a change and asks for it. Returns the button that the user chose, if any. */
async function ask(ullage: Ullage, direction: Direction, agent: WiredAgent): Promise<string | undefined> {
  const close = await ullage.differences.show(agent.agent, agent.files);
  try {
    return await vscode.window.showInformationMessage(direction.question(agent.agent), direction.yes, ...optionsButton(agent), l10n.t('Cancel'));
  } finally {
    await close();
  }
}

function optionsButton({ options }: WiredAgent): readonly string[] {
  return options.length > 0 ? [OPTIONS] : [];
}

interface OptionItem extends vscode.QuickPickItem {
  readonly name: WiringOption['name'];
}

/** Lets the user choose an agent's options. Returns undefined if the user cancels. */
async function chooseOptions({ agent, options }: WiredAgent): Promise<Chosen | undefined> {
  const items = options.map(({ name, on }): OptionItem => ({ ...WORDS[name], picked: on, name }));
  const placeHolder = l10n.t('You see the change before it is made');
  const kept = await vscode.window.showQuickPick(items, { title: l10n.t('What else {0} gets', asLabel(agent)), placeHolder, canPickMany: true });
  return kept && Object.fromEntries(items.map(({ name }) => [name, kept.some((item) => item.name === name)]));
}
