/** The conversations that coding agents keep on this machine, as the server finds them. */
import * as path from 'node:path';

import * as vscode from 'vscode';

import { oneLine } from './figures';
import { plainText } from './labels';
import { TranscriptsList, type FoundTranscript } from './protocol.gen';
import type { Door } from './sessions';

const TITLE = 120;

/** Returns at most `limit` conversations: those of a folder and the folders in it first, then the newest. Titles are plain text on one line. */
export async function findTranscripts(door: Pick<Door, 'request'>, folder: string, limit: number): Promise<readonly FoundTranscript[]> {
  const { transcripts } = await door.request(TranscriptsList, { cwd: folder, limit });
  return transcripts.map((one) => ({ ...one, title: oneLine(plainText(one.title), TITLE) || path.basename(one.path) }));
}

/** Returns the open folder, or an empty string without one. */
export function folder(): string {
  return vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? '';
}
