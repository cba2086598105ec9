/** Finds for the page what a compaction left out, and gives it back to the agent through its terminal. */
import * as l10n from '@vscode/l10n';
import type * as vscode from 'vscode';

import { errorText } from '../errors';
import { pasteInto } from '../following/terminals';
import { ContextGivenBack, ContextLost } from '../protocol.gen';
import type { SessionModel } from '../session';
import type { Given, HostMessage, Lost } from './messages';

/** The most entries of a kind: more than a user reads, and few enough for a page that is drawn at once. */
const LIMIT = 50;

/** Finds the terminal in which a conversation's agent runs. */
export interface TerminalFinder {
  of(sessionId: string): Promise<vscode.Terminal | undefined>;
}

export interface LostHostOptions {
  readonly model: Pick<SessionModel, 'request'>;
  readonly terminals: TerminalFinder;
  readonly post: (message: HostMessage) => void;
}

export class LostHost {
  readonly #options: LostHostOptions;
  /** The briefs that the page was sent, by session and edit. */
  readonly #briefs = new Map<string, string>();

  constructor(options: LostHostOptions) {
    this.#options = options;
  }

  /** Sends the page what a compaction left out, or why that is not known. */
  async show(sessionId: string, editId: string): Promise<void> {
    this.#options.post({ type: 'lost', lost: await this.#find(sessionId, editId) });
  }

  /** Puts the brief into the agent's terminal, as far as it still runs there. The user reads it, and presses Enter. */
  async giveBack(sessionId: string, editId: string): Promise<void> {
    const brief = this.#briefs.get(`${sessionId} ${editId}`);
    if (brief === undefined) return;
    const terminal = await this.#options.terminals.of(sessionId);
    if (terminal) pasteInto(terminal, brief);
    const text = terminal ? l10n.t('Put into the terminal “{0}”. Nothing is sent before you press Enter there.', terminal.name) : l10n.t('The agent no longer runs in a terminal of this window. Copy it instead.');
    this.#options.post({ type: 'notice', severity: terminal ? 'info' : 'warning', text, editId: null });
  }

  async #find(sessionId: string, editId: string): Promise<Lost> {
    try {
      const [{ readable, counts, entries, brief }, given] = await Promise.all([
        this.#options.model.request(ContextLost, { sessionId, editId, limit: LIMIT }),
        this.#given(sessionId, editId),
      ]);
      const terminal = brief === '' ? undefined : await this.#options.terminals.of(sessionId);
      this.#briefs.set(`${sessionId} ${editId}`, brief);
      const listed = entries.map(({ kind, state, text, detail, index }) => ({ kind, state, text, detail, index }));
      return { editId, error: '', readable, counts, entries: listed, brief, terminal: terminal?.name ?? null, given };
    } catch (error) {
      return { editId, error: errorText(error), readable: true, counts: {}, entries: [], brief: '', terminal: null, given: [] };
    }
  }

  async #given(sessionId: string, editId: string): Promise<Given[]> {
    const { rows } = await this.#options.model.request(ContextGivenBack, { sessionId });
    return rows.filter((row) => row.editId === editId).map(({ at, why, counts, tokens, text }) => ({ at, why, counts, tokens, text }));
  }
}
