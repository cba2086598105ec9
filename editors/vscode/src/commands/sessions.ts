/** Commands on whole conversations: show, switch, fork, import, export. */
import * as os from 'node:os';

import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import { titleOf } from '../conversations';
import type { Ullage } from '../extension';
import {
  type ExportParams,
  type FoundTranscript,
  type ImportParams,
  type ImportResult,
  type ListedSession,
  SessionDelete,
  SessionExport,
  SessionFork,
  SessionImport,
  SessionList,
  SessionLoad,
  type UsageMeta,
} from '../protocol.gen';
import { findTranscripts, folder } from '../sessions';
import { ago, asLabel, asMessage, messages, short } from '../words';
import { sessionOf, showAll } from './agents';
import { activeSession, type Command, withProgress } from './guard';

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
  const title = await vscode.window.showInputBox({ title: l10n.t('Fork Conversation'), prompt: l10n.t('A title for the fork'), value });
  if (title === undefined) return;
  await ullage.sessions.activate(await ullage.sessions.request(SessionFork, { sessionId, title }));
};

/** Removes a conversation from all that Ullage keeps, after one question that says what goes and what stays. */
export const forget: Command = async (ullage, given) => {
  const sessionId = sessionOf(given) ?? ullage.subjectId ?? activeSession(ullage);
  const { title, usage: { _meta: { ullage: meta } } } = await ullage.sessions.request(SessionLoad, { sessionId });
  const row = ullage.following.row(sessionId);
  const name = row ? titleOf(row) : title || l10n.t('Untitled conversation');
  const goes = l10n.t('Ullage removes all that it keeps of it: {0}, every compaction with its summary, pins, and agents’ files that it has kept. This cannot be undone.', messages(meta.messagesActive + meta.messagesArchived));
  const detail = `${goes}\n\n${stays(row?.agent ?? meta.agent, meta.managedBy, row?.path ?? meta.followed?.path)}`;
  const verb = l10n.t('Forget');
  if ((await vscode.window.showWarningMessage(asMessage(l10n.t('Forget “{0}”?', name)), { modal: true, detail }, verb)) !== verb) return;
  await ullage.sessions.request(SessionDelete, { sessionId });
  ullage.following.drop(sessionId);
  await ullage.sessions.leave(sessionId);
  vscode.window.setStatusBarMessage(l10n.t('Forgotten: {0}', asLabel(name)), 4_000);
};

function stays(agent: string, managedBy: UsageMeta['managedBy'], file: string | undefined): string {
  if (file) return l10n.t('{0}’s own file stays: {1}. If {0} goes on with it, Ullage reads all of it again, from message 1.', agent || l10n.t('The agent'), file);
  return managedBy === 'agent' ? l10n.t('What its agent has of it stays as it is.') : l10n.t('It is nowhere else.');
}

export const switchTo: Command = async (ullage) => {
  const sessions = await allSessions(ullage);
  const own = folder();
  const rank = (session: ListedSession): number => (own && session.cwd === own ? 0 : 1);
  const items = [...sessions].sort((a, b) => rank(a) - rank(b)).map((session) => asItem(session, ullage.sessions.activeSessionId));
  const chosen = await vscode.window.showQuickPick([...items, ...others(ullage.sessions.activeSessionId !== undefined)], {
    title: l10n.t('Conversations'),
    placeHolder: l10n.t('Conversations of this folder first, then last changed first'),
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
    prompt: l10n.t('Assumed for conversations that do not name one (setting {0})', 'ullage.model'),
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
    ...(hasSession ? [{ label: `$(repo-forked) ${l10n.t('Fork Conversation')}`, command: 'ullage.forkSession' }, { label: `$(export) ${l10n.t('Export Conversation…')}`, command: 'ullage.exportSession' }] : []),
    { label: `$(cloud-download) ${l10n.t('Import Transcript…')}`, command: 'ullage.importTranscript' },
  ];
}

function asItem({ sessionId, title, cwd, updatedAt, _meta }: ListedSession, active: string | undefined): SessionItem {
  const { model, messages: count } = _meta.ullage;
  return {
    label: `${sessionId === active ? '$(check) ' : ''}${asLabel(title || l10n.t('Untitled conversation'))}`,
    description: [asLabel(model), messages(count), ago(Date.parse(updatedAt), Date.now())].filter(Boolean).join(' · '),
    detail: asLabel(cwd),
    sessionId,
  };
}

/** The conversations that the picker offers. Users narrow the list by typing. */
const OFFERED = 200;

type Picked = Pick<ImportParams, 'path' | 'run'>;

/** Imports the file that the first argument names (a path or a Uri), or asks for one. The second is the number of a conversation in the file. */
export const importTranscript: Command = async (ullage, given, run) => {
  const path = givenPath(given);
  const picked = path === undefined ? await pickTranscript(ullage) : { path, ...asRun(run) };
  if (picked === undefined) return;
  const done = await withProgress(l10n.t('Importing'), (report, token) => {
    report(picked.path ?? '');
    return ullage.sessions.request(SessionImport, { ...picked, cwd: folder() }, token);
  });
  const kept = done.session.usage._meta.ullage.followed;
  if (!kept) ullage.notices.announce(done.session.sessionId, imported(done));
  await ullage.sessions.activate(done.session);
  if (kept) void offerWays(kept.agent);
};

/** Says of an imported conversation that its agent keeps it, so that it is not a copy, and offers what can be edited. */
async function offerWays(agent: string): Promise<void> {
  const [fork, go] = [l10n.t('Fork…'), l10n.t('Continue in a New Session…')];
  const text = l10n.t('{0} keeps this conversation, and Ullage reads it there. Nothing was copied.', agent || l10n.t('An agent'));
  const chosen = await vscode.window.showInformationMessage(asMessage(text), fork, go);
  if (chosen) await vscode.commands.executeCommand(chosen === fork ? 'ullage.forkSession' : 'ullage.continueSession');
}

const FORMATS: readonly (vscode.QuickPickItem & { readonly format: NonNullable<ExportParams['format']> })[] = [
  { label: 'Ullage', description: l10n.t('everything ever said, with every edit; can be imported again'), format: 'ullage' },
  { label: l10n.t('Anthropic request'), description: l10n.t('the context as it is now, as Messages API JSON'), format: 'anthropic' },
  { label: l10n.t('OpenAI request'), description: l10n.t('the context as it is now, as Chat Completions JSON'), format: 'openai' },
];

export const exportSession: Command = async (ullage) => {
  const sessionId = activeSession(ullage);
  const chosen = await vscode.window.showQuickPick(FORMATS, { title: l10n.t('Export Conversation'), placeHolder: l10n.t('As what?') });
  if (!chosen) return;
  const { format } = chosen;
  const name = (ullage.sessions.title || l10n.t({ message: 'conversation', comment: ['The name of a file.'] })).replace(/[^\p{L}\p{N}]+/gu, '-').slice(0, 40);
  const start = vscode.workspace.workspaceFolders?.[0]?.uri ?? vscode.Uri.file(os.homedir());
  const defaultUri = vscode.Uri.joinPath(start, `${name}.${format === 'ullage' ? 'jsonl' : 'json'}`);
  const target = await vscode.window.showSaveDialog({ defaultUri, title: l10n.t('Export Conversation') });
  if (!target) return;
  const { text } = await withProgress(l10n.t('Exporting'), (_, token) => ullage.sessions.request(SessionExport, { sessionId, format }, token));
  await vscode.workspace.fs.writeFile(target, new TextEncoder().encode(text));
  if (await vscode.window.showInformationMessage(asMessage(l10n.t('Exported to {0}.', target.fsPath)), l10n.t('Open'))) await vscode.window.showTextDocument(target);
};

function givenPath(given: unknown): string | undefined {
  if (given instanceof vscode.Uri) return given.fsPath;
  return typeof given === 'string' ? given : undefined;
}

/** Imports the conversation that the extension brings along. */
export const importSample: Command = (ullage) => importTranscript(ullage, ullage.sample);

function asRun(run: unknown): Picked {
  return typeof run === 'number' ? { run } : {};
}

async function pickTranscript(ullage: Ullage): Promise<Picked | undefined> {
  // Before the user agrees to it, no conversation is read, not even its title.
  const { isAllowed } = ullage.following;
  const found = isAllowed ? await findTranscripts(ullage.sessions, folder(), OFFERED) : [];
  const [here, elsewhere] = [found.filter((one) => one.here), found.filter((one) => !one.here)];
  const items = [...group(l10n.t('This folder'), here), ...group(l10n.t('Other folders'), elsewhere), ...OTHER_WAYS, ...(isAllowed ? [] : [FOLLOW])];
  const chosen = await vscode.window.showQuickPick(items, {
    title: l10n.t('Import Transcript'),
    placeHolder: found.length > 0 ? l10n.t('Choose one to read; the conversation itself stays as it is') : isAllowed ? l10n.t('No conversations of coding agents were found') : l10n.t('Conversations of agents are listed here if you follow them'),
    matchOnDescription: true,
    matchOnDetail: true,
  });
  if (!chosen) return undefined;
  if (chosen.command) await vscode.commands.executeCommand(chosen.command);
  return chosen.command ? undefined : (chosen.source ?? (await openDialog()));
}

interface TranscriptItem extends vscode.QuickPickItem {
  readonly source?: Picked;
  readonly command?: string;
}

const OTHER_WAYS: readonly TranscriptItem[] = [
  { label: '', kind: vscode.QuickPickItemKind.Separator },
  { label: `$(folder-opened) ${l10n.t('Choose a file…')}`, alwaysShow: true },
  { label: `$(beaker) ${l10n.t('Import the sample conversation')}`, alwaysShow: true, command: 'ullage.importSample' },
];

const FOLLOW: TranscriptItem = { label: `$(eye) ${l10n.t('Follow agents’ conversations…')}`, alwaysShow: true, command: 'ullage.showAgents' };

function group(label: string, transcripts: readonly FoundTranscript[]): readonly TranscriptItem[] {
  return transcripts.length > 0 ? [{ label, kind: vscode.QuickPickItemKind.Separator }, ...transcripts.map(transcriptItem)] : [];
}

async function openDialog(): Promise<Picked | undefined> {
  const filters = { [l10n.t('Transcripts')]: ['jsonl', 'json'], [l10n.t('All files')]: ['*'] };
  const files = await vscode.window.showOpenDialog({ title: l10n.t('Import Transcript'), openLabel: l10n.t('Import'), filters });
  return files?.[0] && { path: files[0].fsPath };
}

function transcriptItem({ path, run, agent, title, cwd, updatedAt, bytes }: FoundTranscript): TranscriptItem {
  const description = `${agent} · ${ago(updatedAt, Date.now())} · ${short(bytes)}B`;
  return { label: asLabel(title), description, detail: asLabel(cwd || path), source: { path, ...asRun(run) } };
}

function imported({ messages: count, format, unread }: ImportResult): string {
  const done = l10n.t('Imported {0} ({1}).', messages(count), format);
  if (unread.length === 0) return done;
  return `${done} ${unread.length === 1 ? l10n.t('1 line could not be read.') : l10n.t('{0} lines could not be read.', unread.length)}`;
}
