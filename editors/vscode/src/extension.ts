/** The extension as a whole. `main.ts` loads it, once the display language is known. */
import * as vscode from 'vscode';

import { registerCommands } from './commands';
import { ConversationTree } from './following/tree';
import { registerTools } from './lookingUp';
import { registerParticipant } from './participant';
import type { Method } from './protocol.gen';
import { findTranscripts, folder } from './transcripts';
import { folders, Ullage } from './ullage';
import { ContextView } from './view/contextView';

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
