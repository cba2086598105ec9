import type { Clock } from "./clock.ts";

export type AuditEvent =
  | { kind: "login"; user: string; session: string; device: string }
  | { kind: "refresh"; session: string; device: string }
  | { kind: "replay"; session: string; device: string }
  | { kind: "logout"; session: string }
  | { kind: "logout_all"; user: string; sessions: number };

/** Where audit lines go; one line, one event. */
export interface AuditSink {
  write(line: string): void;
}

// A token in the log would be a key left in the lock. No event has a field for one; this catches free text.
const TOKEN_LIKE = /[A-Za-z0-9_-]{40,}/g;

/** The audit log: who came, who left, what looked wrong. Never a token, never a password. */
export class Audit {
  constructor(
    private readonly sink: AuditSink,
    private readonly clock: Clock,
  ) {}

  note(event: AuditEvent): void {
    const line = JSON.stringify({ at: this.clock.now(), ...event });
    this.sink.write(line.replace(TOKEN_LIKE, "[redacted]"));
  }
}
