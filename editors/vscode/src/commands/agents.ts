/** Commands on the conversations of agents: the list of all, and what can be done about a full one. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import { asLabel } from '../labels';
import { SessionFork, SessionLoad, type FollowedConversation } from '../protocol.gen';
import type { Ullage } from '../ullage';
import type { Command } from './guard';

/** Milliseconds between the command and its Enter key. Agents take what comes faster for a pasted text, of which Enter is a part. */
const PAUSE = 300;

/** Shows the tree of conversations. Where nothing is followed, asks whether that is wanted. */
export const showAll: Command = async (ullage) => {
  if (!ullage.following.isAllowed) return ullage.following.ask();
  await vscode.commands.executeCommand('ullage.agents.focus');
};

export const follow: Command = (ullage) => ullage.following.answer(true);
export const followNone: Command = (ullage) => ullage.following.answer(false);

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
  const chosen = await vscode.window.showQuickPick([...waysOf(row, command, terminal), ...(row.sessionId === ullage.subjectId ? [CONTINUE] : [])], {
    title: l10n.t('{0} has this conversation; Ullage only reads it', row.agent),
    placeHolder: l10n.t('What is to be done?'),
  });
  await chosen?.run(ullage);
}

interface Way extends vscode.QuickPickItem {
  readonly run: (ullage: Ullage) => Promise<unknown>;
}

const CONTINUE: Way = {
  label: `$(debug-continue) ${l10n.t('Continue in a New Session…')}`,
  detail: l10n.t('A session of an agent with this conversation: compacted, or as it was before a compaction.'),
  run: async () => { await vscode.commands.executeCommand('ullage.continueSession'); },
};

function waysOf(row: Kept, command: string, terminal: vscode.Terminal | undefined): readonly Way[] {
  const fork: Way = {
    label: `$(repo-forked) ${l10n.t('Fork it, and compact the fork')}`,
    detail: l10n.t('A session of Ullage with everything said so far. {0}’s conversation stays as it is.', row.agent),
    run: (ullage) => forkAndCompact(ullage, row.sessionId),
  };
  if (!row.compactCommand) return [fork];
  const copy: Way = { label: `$(copy) ${l10n.t('Copy {0}', asLabel(command))}`, detail: l10n.t('To type it in {0} yourself.', row.agent), run: () => copyCommand(command) };
  if (!terminal) return [copy, fork];
  const send: Way = {
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
