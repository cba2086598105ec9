/** Single messages as read-only documents, for search results. */
import * as vscode from 'vscode';

const SCHEME = 'ullage-message';

export class MessageDocuments implements vscode.Disposable {
  readonly #texts = new Map<string, string>();
  readonly #registrations: vscode.Disposable;

  constructor() {
    this.#registrations = vscode.Disposable.from(
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
        provideTextDocumentContent: (uri) => this.#texts.get(uri.toString()) ?? '',
      }),
      vscode.workspace.onDidCloseTextDocument((document) => { this.#texts.delete(document.uri.toString()); }),
    );
  }

  /** Opens a text under a name. The document replaces no other and is never saved. */
  async show(id: string, name: string, text: string): Promise<void> {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${id}/${name}.md` });
    this.#texts.set(uri.toString(), text);
    await vscode.window.showTextDocument(uri, { preview: true });
  }

  dispose(): void {
    this.#registrations.dispose();
  }
}
