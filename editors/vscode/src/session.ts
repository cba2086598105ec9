/** The interface through which the status bar, the Context view and the commands read the active session. */
import type * as vscode from 'vscode';

import type { Cost, FollowedConversation, Method, SessionNotification, UsageMeta } from './protocol.gen';

/** A session's figures as the server last sent them, in tokens. `size` is null while the window is unknown. */
export interface UsageState {
  readonly sessionId: string;
  readonly title: string;
  readonly used: number;
  readonly size: number | null;
  readonly meta: UsageMeta;
  /** The model as users know it. */
  readonly modelName: string;
  /** The session's cost, if it is known. */
  readonly cost?: Cost | undefined;
  /** When the figures came, in Unix milliseconds. */
  readonly at: number;
}

const LEVELS = { far: 'normal', near: 'warning', imminent: 'critical' } as const;

/**
 * Returns a session's figures with those of its row, if its conversation is followed: the row comes with every change of the
 * agent's file. Status bar, hover and view then tell one figure.
 */
export function withRow(usage: UsageState, row: FollowedConversation | undefined): UsageState {
  if (row?.used == null) return usage;
  const { meta } = usage;
  return {
    ...usage,
    title: row.title || usage.title,
    used: row.used,
    size: row.window,
    meta: {
      ...meta,
      source: row.usedSource ?? meta.source,
      percent: row.percent,
      compactAt: row.compactsAt,
      level: row.nearness ? LEVELS[row.nearness] : meta.level,
      // An estimate of calls belongs to the figure that it was made for.
      callsLeft: row.used === usage.used ? meta.callsLeft : null,
      agent: row.agent,
      followed: meta.followed ?? { agent: row.agent, path: row.path },
    },
  };
}

/** A running compaction. `text` is the summary as far as it is written. */
export interface CompactionState {
  readonly sessionId: string;
  readonly compactionId: string;
  readonly number: number;
  readonly trigger: 'automatic' | 'manual';
  /** Messages that will be archived. */
  readonly messages: number;
  /** Tokens of the whole context at the beginning. */
  readonly sizeBefore: number;
  readonly text: string;
}

/** The active session, and requests to the server. `Ullage` owns the object; all others only read it. */
export interface SessionModel {
  readonly activeSessionId: string | undefined;
  /** The last figures of the active session, or undefined before the first. */
  readonly usage: UsageState | undefined;
  /** The active session's compaction while one runs. */
  readonly compaction: CompactionState | undefined;
  readonly onDidChangeUsage: vscode.Event<UsageState>;
  readonly onDidChangeSession: vscode.Event<string | undefined>;
  /** Fires with every `ullage/session/update` of every session, unchanged. */
  readonly onDidUpdate: vscode.Event<SessionNotification>;
  request<P, R>(method: Method<P, R>, params: P, token?: vscode.CancellationToken): Promise<R>;
}
