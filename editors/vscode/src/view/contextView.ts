/** The Context view: its place in VS Code, its page and the page's security policy. */
import { randomBytes } from 'node:crypto';

import * as vscode from 'vscode';

import type { Chat } from '../chat';
import type { SessionModel } from '../session';
import { pageHtml } from './html';
import { ViewHost } from './viewHost';

export const VIEW_ID = 'ullage.context';

/** Moves the focus to the view. */
export function registerContextView(context: vscode.ExtensionContext, model: SessionModel, chat: Chat): ContextView {
  return new ContextView(context.extensionUri, model, chat);
}

/** The registered view. Its page is made when it is shown and dropped when it is hidden; what was open in it is kept. */
export class ContextView implements vscode.WebviewViewProvider, vscode.Disposable {
  readonly #root: vscode.Uri;
  readonly #model: SessionModel;
  readonly #chat: Chat;
  readonly #registered: vscode.Disposable;
  #host: ViewHost | undefined;

  constructor(root: vscode.Uri, model: SessionModel, chat: Chat) {
    this.#root = root;
    this.#model = model;
    this.#chat = chat;
    this.#registered = vscode.window.registerWebviewViewProvider(VIEW_ID, this, { webviewOptions: { retainContextWhenHidden: false } });
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    const { webview } = view;
    const [dist, media] = [vscode.Uri.joinPath(this.#root, 'dist'), vscode.Uri.joinPath(this.#root, 'media')];
    webview.options = { enableScripts: true, localResourceRoots: [dist, media] };
    const host = new ViewHost(webview, this.#model, this.#chat);
    this.#host = host;
    view.onDidDispose(() => {
      host.dispose();
      if (this.#host === host) this.#host = undefined;
    });
    webview.html = pageHtml({
      script: webview.asWebviewUri(vscode.Uri.joinPath(dist, 'contextView.js')).toString(),
      style: webview.asWebviewUri(vscode.Uri.joinPath(media, 'contextView.css')).toString(),
      source: webview.cspSource,
      nonce: randomBytes(16).toString('base64url'),
      language: vscode.env.language,
    });
  }

  /** Reads the transcript again, after a change for which the server sends no update (a pin). */
  refresh(): void {
    this.#host?.refresh();
  }

  dispose(): void {
    this.#registered.dispose();
    this.#host?.dispose();
  }
}
