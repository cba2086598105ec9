/** What every surface of the extension shows, as one interface: the status bar, the Context view, the commands. */
import type * as vscode from 'vscode';

import type { Cost, Method, Prompting, SessionNotification, UsageMeta } from './protocol.gen';

/** How full a session's context is, as last told by the server. Tokens; `size` is null while the window is unknown. */
export interface UsageState {
  readonly sessionId: string;
  readonly title: string;
  readonly used: number;
  readonly size: number | null;
  readonly meta: UsageMeta;
  /** What the session has cost, where that is known. */
  readonly cost?: Cost | undefined;
  /** When it came, Unix milliseconds. */
  readonly at: number;
}

/** A compaction that runs. `text` is the summary as far as it is written. */
export interface CompactionState {
  readonly sessionId: string;
  readonly compactionId: string;
  readonly number: number;
  readonly trigger: 'automatic' | 'manual';
  /** Messages that will be archived. */
  readonly messages: number;
  /** Tokens of the whole context when it began. */
  readonly sizeBefore: number;
  readonly text: string;
}

/** The active session and the door to the server. Owned by `Ullage`; everybody else reads it. */
export interface SessionModel {
  readonly activeSessionId: string | undefined;
  /** The last figures of the active session; undefined until the first come. */
  readonly usage: UsageState | undefined;
  /** The active session's compaction while one runs. */
  readonly compaction: CompactionState | undefined;
  /** Whether the active session's prompts would be answered; undefined until that is known. */
  readonly prompting: Prompting | undefined;
  readonly onDidChangeUsage: vscode.Event<UsageState>;
  readonly onDidChangeSession: vscode.Event<string | undefined>;
  /** Every `ullage/session/update`, raw, of every session. */
  readonly onDidUpdate: vscode.Event<SessionNotification>;
  request<P, R>(method: Method<P, R>, params: P, token?: vscode.CancellationToken): Promise<R>;
}
