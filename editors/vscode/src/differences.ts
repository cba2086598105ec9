/** Changes of files that are not made yet, in VS Code's own diff editor. */
import * as path from 'node:path';

import * as vscode from 'vscode';

import type { FileDifference } from './protocol.gen';

const SCHEME = 'ullage-difference';

export class Differences implements vscode.Disposable {
  readonly #texts = new Map<string, string>();
  readonly #registration: vscode.Disposable;
  #shown = 0;

  constructor() {
    this.#registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
      provideTextDocumentContent: (uri) => this.#texts.get(uri.toString()) ?? '',
    });
  }

  /** Shows a change, and returns a function that closes it. A file that is not there is empty. */
  async show(title: string, { path: file, before, after }: FileDifference): Promise<() => Promise<void>> {
    this.#shown += 1;
    // The name at the end decides the language.
    const [left, right] = ['before', 'after'].map((side) => vscode.Uri.from({ scheme: SCHEME, path: `/${this.#shown}/${side}/${path.basename(file)}` })) as [vscode.Uri, vscode.Uri];
    this.#texts.set(left.toString(), before ?? '');
    this.#texts.set(right.toString(), after ?? '');
    await vscode.commands.executeCommand('vscode.diff', left, right, title, { preview: false });
    return async () => {
      await vscode.window.tabGroups.close(tabsOf(right));
      for (const uri of [left, right]) this.#texts.delete(uri.toString());
    };
  }

  dispose(): void {
    this.#registration.dispose();
  }
}

function tabsOf(uri: vscode.Uri): readonly vscode.Tab[] {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  return tabs.filter(({ input }) => input instanceof vscode.TabInputTextDiff && input.modified.toString() === uri.toString());
}
