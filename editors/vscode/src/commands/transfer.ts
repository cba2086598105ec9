/** Commands that import and export sessions. */
import * as os from 'node:os';

import * as vscode from 'vscode';

import { ago, messages, short } from '../figures';
import { SessionExport, SessionImport, type ExportParams, type ImportResult } from '../protocol.gen';
import { findTranscripts, type Transcript } from '../transcripts';
import { activeSession, withProgress, type Command } from './guard';
import { folder } from './sessions';

/** Imports the file that the first argument names (a path or a Uri), or asks for one. */
export const importTranscript: Command = async (ullage, given) => {
  const path = givenPath(given) ?? (await pickTranscript());
  if (path === undefined) return;
  const done = await withProgress('Importing', (report, token) => {
    report(path);
    return ullage.sessions.request(SessionImport, { path, cwd: folder() }, token);
  });
  ullage.notices.announce(done.session.sessionId, imported(done));
  await ullage.sessions.activate(done.session);
};

const FORMATS: readonly (vscode.QuickPickItem & { readonly format: NonNullable<ExportParams['format']> })[] = [
  { label: 'Ullage', description: 'everything ever said, with every edit; can be imported again', format: 'ullage' },
  { label: 'Anthropic request', description: 'the context as it is now, as Messages API JSON', format: 'anthropic' },
  { label: 'OpenAI request', description: 'the context as it is now, as Chat Completions JSON', format: 'openai' },
];

export const exportSession: Command = async (ullage) => {
  const sessionId = activeSession(ullage);
  const chosen = await vscode.window.showQuickPick(FORMATS, { title: 'Export Session', placeHolder: 'As what?' });
  if (!chosen) return;
  const { format } = chosen;
  const name = (ullage.sessions.title || 'session').replace(/[^\p{L}\p{N}]+/gu, '-').slice(0, 40);
  const start = vscode.workspace.workspaceFolders?.[0]?.uri ?? vscode.Uri.file(os.homedir());
  const defaultUri = vscode.Uri.joinPath(start, `${name}.${format === 'ullage' ? 'jsonl' : 'json'}`);
  const target = await vscode.window.showSaveDialog({ defaultUri, title: 'Export Session' });
  if (!target) return;
  const { text } = await withProgress('Exporting', (_, token) => ullage.sessions.request(SessionExport, { sessionId, format }, token));
  await vscode.workspace.fs.writeFile(target, new TextEncoder().encode(text));
  if (await vscode.window.showInformationMessage(`Exported to ${target.fsPath}.`, 'Open')) await vscode.window.showTextDocument(target);
};

function givenPath(given: unknown): string | undefined {
  if (given instanceof vscode.Uri) return given.fsPath;
  return typeof given === 'string' ? given : undefined;
}

async function pickTranscript(): Promise<string | undefined> {
  const found = await findTranscripts(os.homedir());
  const items = [{ label: '$(folder-opened) Choose a file…', alwaysShow: true, path: '' }, ...found.map(asItem)];
  const chosen = await vscode.window.showQuickPick(items, {
    title: 'Import Transcript',
    placeHolder: found.length > 0 ? 'Newest first; a file is read when you pick it' : 'No transcripts of Claude Code or Codex were found',
    matchOnDescription: true,
    matchOnDetail: true,
  });
  if (!chosen) return undefined;
  return chosen.path || (await openDialog());
}

async function openDialog(): Promise<string | undefined> {
  const filters = { Transcripts: ['jsonl', 'json'], 'All files': ['*'] };
  const files = await vscode.window.showOpenDialog({ title: 'Import Transcript', openLabel: 'Import', filters });
  return files?.[0]?.fsPath;
}

function asItem({ path, program, name, changedAt, size }: Transcript): vscode.QuickPickItem & { readonly path: string } {
  const description = `${program} · ${ago(changedAt, Date.now())} · ${short(size)}B`;
  return { label: name, description, detail: path, path };
}

function imported({ messages: count, format, unread }: ImportResult): string {
  const lost = unread.length > 0 ? ` ${unread.length} lines could not be read.` : '';
  return `Imported ${messages(count)} (${format}).${lost}`;
}
