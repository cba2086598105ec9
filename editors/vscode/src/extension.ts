/** The extension as a whole. `main.ts` loads it, once the display language is known. */
import * as vscode from 'vscode';

import { registerCommands } from './commands';
import { registerTools } from './lookingUp';
import { registerParticipant } from './participant';
import type { Method } from './protocol.gen';
import { Ullage } from './ullage';
import { asFound, findTranscripts } from './transcripts';
import { folder } from './folder';
import { ContextView } from './view/contextView';

/** The most conversations that the empty view lists. */
const FOUND = 8;

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
    chat: own.chat,
    permissions: own.permissions,
    connection: own.connection,
    terminals: own.terminals,
    consent: own.following,
    find: async () => (await findTranscripts(own.connection, folder(), FOUND)).map(asFound),
    open: (path: string, run: number | null) => { void vscode.commands.executeCommand('ullage.importTranscript', path, run); },
  };
  const view = new ContextView(context.extensionUri, parts, () => {
    // Before the user agrees to it, nothing is read, and so no server is needed.
    if (own.following.isAllowed) own.connection.wake();
    own.run(own.showSubject());
  });
  own.isViewShown = () => view.isShown;
  const subject = {
    get subjectId() { return own.subjectId; },
    get isFollowed() { return own.following.row(own.subjectId) !== undefined; },
    request: own.connection.request.bind(own.connection),
    nameOf: own.editorModels.nameOf.bind(own.editorModels),
    telling: own.notices.telling.bind(own.notices),
  };
  const icon = vscode.Uri.joinPath(context.extensionUri, 'images/activity.svg');
  context.subscriptions.push(registerTools(subject), registerParticipant(subject, icon));
  context.subscriptions.push(own, registerCommands(own), view, own.pinsChanged.event(() => { view.refresh(); }));
  own.begin();
  return { request: (method, params) => own.connection.request(method, params) };
}

export async function deactivate(): Promise<void> {
  await ullage?.connection.stop();
}
