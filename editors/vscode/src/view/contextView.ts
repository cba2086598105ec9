/** The Context view: its place in VS Code, its page and the page's security policy. */
import { randomBytes } from 'node:crypto';

import * as vscode from 'vscode';

import { language } from '../language';
import { pageHtml } from './html';
import type { ViewHost, ViewParts } from './viewHost';

export const VIEW_ID = 'ullage.context';

/** The registered view. Its page is made when it is shown and dropped when it is hidden; what was open in it is kept. */
export class ContextView implements vscode.WebviewViewProvider, vscode.Disposable {
  readonly #root: vscode.Uri;
  readonly #parts: ViewParts;
  readonly #shown: () => void;
  readonly #registered: vscode.Disposable;
  #host: ViewHost | undefined;

  /** `shown` is called when the view is shown or hidden. */
  constructor(root: vscode.Uri, parts: ViewParts, shown: () => void) {
    this.#root = root;
    this.#parts = parts;
    this.#shown = shown;
    this.#registered = vscode.window.registerWebviewViewProvider(VIEW_ID, this, { webviewOptions: { retainContextWhenHidden: false } });
  }

  async resolveWebviewView(view: vscode.WebviewView): Promise<void> {
    const { webview } = view;
    const [dist, media] = [vscode.Uri.joinPath(this.#root, 'dist'), vscode.Uri.joinPath(this.#root, 'media')];
    webview.options = { enableScripts: true, localResourceRoots: [dist, media] };
    const gone = new AbortController();
    view.onDidDispose(() => { gone.abort(); });
    const { ViewHost } = await import('./viewHost');
    // The user may have closed it meanwhile.
    if (gone.signal.aborted) return;
    const host = new ViewHost(webview, this.#parts);
    this.#host = host;
    view.onDidDispose(() => {
      host.dispose();
      if (this.#host === host) this.#host = undefined;
      this.#shown();
    });
    webview.html = pageHtml({
      script: webview.asWebviewUri(vscode.Uri.joinPath(dist, 'contextView.js')).toString(),
      style: webview.asWebviewUri(vscode.Uri.joinPath(media, 'contextView.css')).toString(),
      source: webview.cspSource,
      nonce: randomBytes(16).toString('base64url'),
      language: language(),
      texts: vscode.l10n.bundle,
    });
    this.#shown();
  }

  get isShown(): boolean {
    return this.#host !== undefined;
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
