/** Commands on whole sessions. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import { ago, messages } from '../figures';
import { folder } from '../transcripts';
import { asLabel } from '../labels';
import { SessionFork, SessionList, SessionLoad, type ListedSession } from '../protocol.gen';
import type { Ullage } from '../ullage';
import { showAll } from './agents';
import { activeSession, type Command } from './guard';

/** Shows the Context view. Without a conversation there is none, so that the tree is shown, to choose one. */
export const showContext: Command = async (ullage) => {
  const { sessions, subjectId } = ullage;
  if (subjectId === undefined) {
    await showAll(ullage);
    return;
  }
  if (sessions.activeSessionId === undefined) await sessions.activate(await sessions.request(SessionLoad, { sessionId: subjectId }), false);
  await vscode.commands.executeCommand('ullage.context.focus');
};

export const fork: Command = async (ullage) => {
  const sessionId = activeSession(ullage);
  const value = l10n.t('{0} (fork)', ullage.sessions.title).trim();
  const title = await vscode.window.showInputBox({ title: l10n.t('Fork Session'), prompt: l10n.t('A title for the fork'), value });
  if (title === undefined) return;
  await ullage.sessions.activate(await ullage.sessions.request(SessionFork, { sessionId, title }));
};

export const switchTo: Command = async (ullage) => {
  const sessions = await allSessions(ullage);
  const own = folder();
  const rank = (session: ListedSession): number => (own && session.cwd === own ? 0 : 1);
  const items = [...sessions].sort((a, b) => rank(a) - rank(b)).map((session) => asItem(session, ullage.sessions.activeSessionId));
  const chosen = await vscode.window.showQuickPick([...items, ...others(ullage.sessions.activeSessionId !== undefined)], {
    title: l10n.t('Sessions'),
    placeHolder: l10n.t('Sessions of this folder first, then last changed first'),
    matchOnDescription: true,
    matchOnDetail: true,
  });
  if (chosen?.command) await vscode.commands.executeCommand(chosen.command);
  if (chosen?.sessionId) await ullage.sessions.activate(await ullage.sessions.request(SessionLoad, { sessionId: chosen.sessionId }));
};

/** For a model without a known window: asks for the model's name or for its window. */
export const setWindow: Command = async (ullage) => {
  const model = ullage.sessions.usage?.meta.model ?? '';
  if (!model) return askModel();
  const typed = await vscode.window.showInputBox({
    title: l10n.t('The window of {0}', ullage.sessions.usage?.modelName ?? model),
    prompt: l10n.t('Input tokens the model accepts'),
    placeHolder: '128000',
    validateInput: (value) => (/^[1-9][\d_,]*$/.test(value.trim()) ? undefined : l10n.t('A whole number of tokens, for example {0}', '128000')),
  });
  if (!typed) return;
  const settings = vscode.workspace.getConfiguration('ullage');
  const models = settings.get<Record<string, Record<string, unknown>>>('models', {});
  const window = Number(typed.replace(/[_,\s]/g, ''));
  await settings.update('models', { ...models, [model]: { ...models[model], window } }, vscode.ConfigurationTarget.Global);
};

async function askModel(): Promise<void> {
  const model = await vscode.window.showInputBox({
    title: l10n.t('Which model is this conversation for?'),
    prompt: l10n.t('Assumed for sessions that do not name one (setting {0})', 'ullage.model'),
    placeHolder: 'claude-sonnet-4-5',
  });
  if (!model) return;
  await vscode.workspace.getConfiguration('ullage').update('model', model.trim(), vscode.ConfigurationTarget.Global);
}

/** The most pages of the list that are read. Users with more sessions find them by search. */
const MAX_PAGES = 20;

async function allSessions(ullage: Ullage): Promise<readonly ListedSession[]> {
  const sessions: ListedSession[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const found = await ullage.sessions.request(SessionList, cursor === undefined ? {} : { cursor });
    sessions.push(...found.sessions);
    cursor = found.nextCursor;
    if (cursor === undefined) break;
  }
  return sessions;
}

interface SessionItem extends vscode.QuickPickItem {
  readonly sessionId?: string;
  readonly command?: string;
}

function others(hasSession: boolean): readonly SessionItem[] {
  return [
    { label: '', kind: vscode.QuickPickItemKind.Separator },
    ...(hasSession ? [{ label: `$(repo-forked) ${l10n.t('Fork Session')}`, command: 'ullage.forkSession' }, { label: `$(export) ${l10n.t('Export Session…')}`, command: 'ullage.exportSession' }] : []),
    { label: `$(cloud-download) ${l10n.t('Import Transcript…')}`, command: 'ullage.importTranscript' },
  ];
}

function asItem({ sessionId, title, cwd, updatedAt, _meta }: ListedSession, active: string | undefined): SessionItem {
  const { model, messages: count } = _meta.ullage;
  return {
    label: `${sessionId === active ? '$(check) ' : ''}${asLabel(title || l10n.t('Untitled session'))}`,
    description: [asLabel(model), messages(count), ago(Date.parse(updatedAt), Date.now())].filter(Boolean).join(' · '),
    detail: asLabel(cwd),
    sessionId,
  };
}
