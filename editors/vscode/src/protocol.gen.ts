// Stands in until `scripts/gen_protocol.py` writes the real one.
export interface Method<P, R> {
  readonly name: string;
  readonly types?: (params: P) => R;
}

export type Level = 'normal' | 'warning' | 'critical' | 'off';
export type UsageSource = 'reported' | 'stale' | 'estimated';

export interface UsageMeta {
  source: UsageSource;
  level: Level;
  usable: number | null;
  warnAt: number | null;
  compactAt: number | null;
  breakdown: Record<string, number>;
  model: string;
  messagesActive: number;
  messagesArchived: number;
  compactions: number;
  oldestTimestamp: number;
  reportedAt?: number | null;
  pendingMessages?: number;
  errorShare?: number;
}

export interface SessionNotification {
  sessionId: string;
  update: { sessionUpdate: string };
}
