/** Texts of Ullage as documents of VS Code: messages, and changes of files that are not made yet. */
import * as path from 'node:path';

import * as vscode from 'vscode';

import type { FileDifference } from './protocol.gen';

const DIFFERENCE = 'ullage-difference';
const MESSAGE = 'ullage-message';

/** A file before and after, as documents. */
interface Sides {
  readonly file: vscode.Uri;
  readonly before: vscode.Uri;
  readonly after: vscode.Uri;
}

export class Differences implements vscode.Disposable {
  readonly #texts = new Map<string, string>();
  readonly #registration: vscode.Disposable;
  #shown = 0;

  constructor() {
    this.#registration = vscode.workspace.registerTextDocumentContentProvider(DIFFERENCE, {
      provideTextDocumentContent: (uri) => this.#texts.get(uri.toString()) ?? '',
    });
  }

  /** Shows the changes of files, all in one editor, and returns a function that closes it. A file that is not there is empty. */
  async show(name: string, files: readonly FileDifference[]): Promise<() => Promise<void>> {
    const sides = files.map((file) => this.#sidesOf(file));
    const [first, ...others] = sides;
    const title = `${name}: ${files.map((file) => path.basename(file.path)).join(', ')}`;
    if (first && others.length === 0) await vscode.commands.executeCommand('vscode.diff', first.before, first.after, `${title} (${first.file.fsPath})`, { preview: false });
    else if (first) await vscode.commands.executeCommand('vscode.changes', title, sides.map(({ file, before, after }) => [file, before, after]));
    return async () => {
      await vscode.window.tabGroups.close(tabsOf(title));
      for (const { before, after } of sides) for (const uri of [before, after]) this.#texts.delete(uri.toString());
    };
  }

  dispose(): void {
    this.#registration.dispose();
  }

  #sidesOf(file: FileDifference): Sides {
    this.#shown += 1;
    // Both sides have the file's own path: editors show it, and take its language from it.
    const own = vscode.Uri.file(file.path);
    const uriOf = (side: string): vscode.Uri => own.with({ scheme: DIFFERENCE, query: `${this.#shown}-${side}` });
    const sides = { file: own, before: uriOf('before'), after: uriOf('after') };
    this.#texts.set(sides.before.toString(), file.before ?? '');
    this.#texts.set(sides.after.toString(), file.after ?? '');
    return sides;
  }
}

/** Returns the tabs with this title. An editor of several files adds their number to it. */
function tabsOf(title: string): readonly vscode.Tab[] {
  return vscode.window.tabGroups.all.flatMap((group) => group.tabs).filter(({ label }) => label === title || label.startsWith(`${title} (`));
}

/** Messages as documents, which replace no other and are never saved. */
export class MessageDocuments implements vscode.Disposable {
  readonly #texts = new Map<string, string>();
  readonly #registrations: vscode.Disposable;

  constructor() {
    this.#registrations = vscode.Disposable.from(
      vscode.workspace.registerTextDocumentContentProvider(MESSAGE, {
        provideTextDocumentContent: (uri) => this.#texts.get(uri.toString()) ?? '',
      }),
      vscode.workspace.onDidCloseTextDocument((document) => { this.#texts.delete(document.uri.toString()); }),
    );
  }

  /** Opens a text under a name. The document replaces no other and is never saved. */
  async show(id: string, name: string, text: string): Promise<void> {
    const uri = vscode.Uri.from({ scheme: MESSAGE, path: `/${id}/${name}.md` });
    this.#texts.set(uri.toString(), text);
    await vscode.window.showTextDocument(uri, { preview: true });
  }

  dispose(): void {
    this.#registrations.dispose();
  }
}
