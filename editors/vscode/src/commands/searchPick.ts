/** A picker that shows what the server finds while the user types. */
import * as vscode from 'vscode';

import { errorText, isCancelled } from '../errors';

/** What the server finds, and the title that says how much that is. */
export interface Found<Hit> {
  readonly hits: readonly Hit[];
  readonly title: string;
}

interface Search<Hit> {
  readonly title: string;
  readonly placeholder: string;
  /** Milliseconds without a key before a search begins. */
  readonly pause: number;
  readonly find: (query: string, token: vscode.CancellationToken) => Promise<Found<Hit>>;
  readonly asItem: (hit: Hit) => vscode.QuickPickItem;
}

/** Returns the hit that the user chooses. A newer search cancels an older one. */
export async function pickFound<Hit>(search: Search<Hit>): Promise<Hit | undefined> {
  const pick = vscode.window.createQuickPick<vscode.QuickPickItem & { readonly hit: Hit }>();
  pick.title = search.title;
  pick.placeholder = search.placeholder;
  pick.matchOnDetail = true;
  let source = new vscode.CancellationTokenSource();
  let pause: NodeJS.Timeout | undefined;
  const show = async (query: string, token: vscode.CancellationToken): Promise<void> => {
    pick.busy = true;
    try {
      const { hits, title } = query === '' ? { hits: [], title: search.title } : await search.find(query, token);
      if (token.isCancellationRequested) return;
      // Keeps the editor's own filter from hiding results of the server.
      pick.items = hits.map((hit) => ({ ...search.asItem(hit), alwaysShow: true, hit }));
      pick.title = title;
    } catch (error) {
      if (isCancelled(error) || token.isCancellationRequested) return;
      pick.items = [];
      pick.title = errorText(error);
    } finally {
      if (!token.isCancellationRequested) pick.busy = false;
    }
  };
  pick.onDidChangeValue((value) => {
    clearTimeout(pause);
    source.cancel();
    source = new vscode.CancellationTokenSource();
    const { token } = source;
    pause = setTimeout(() => { void show(value.trim(), token); }, search.pause);
  });
  try {
    return await new Promise((resolve) => {
      pick.onDidAccept(() => { resolve(pick.activeItems[0]?.hit); });
      pick.onDidHide(() => { resolve(undefined); });
      pick.show();
    });
  } finally {
    clearTimeout(pause);
    source.cancel();
    pick.dispose();
  }
}
