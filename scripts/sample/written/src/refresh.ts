import { createHash, randomBytes } from "node:crypto";
import type { Clock } from "./clock.ts";
import type { RefreshRow, Store } from "./store.ts";

const TOKEN_BYTES = 32;

export class RefreshRefused extends Error {
  constructor(readonly reason: "unknown" | "expired" | "used" | "device") {
    super(`refresh refused: ${reason}`);
  }
}

/**
 * Refresh tokens: random, stored only as a hash, good for one use.
 *
 * Each use gives a successor. All successors of one login are a family (its session id), so that a whole
 * family can be ended at once.
 */
export class RefreshTokens {
  constructor(
    private readonly store: Store,
    private readonly clock: Clock,
    private readonly seconds: number,
  ) {}

  /** A first token for a session that was just started. */
  issue(session: string, device: string): string {
    const token = randomBytes(TOKEN_BYTES).toString("base64url");
    const now = this.clock.now();
    this.store.addRefresh({
      hash: hashOf(token),
      session,
      device,
      issuedAt: now,
      expiresAt: now + this.seconds,
      usedAt: null,
    });
    return token;
  }

  /** Takes a token and answers its successor; throws RefreshRefused. */
  rotate(token: string, device: string): { session: string; token: string } {
    return this.store.transaction(() => {
      const row = this.valid(token, device);
      this.store.markRefreshUsed(row.hash, this.clock.now());
      return { session: row.session, token: this.issue(row.session, row.device) };
    });
  }

  private valid(token: string, device: string): RefreshRow {
    const row = this.store.refresh(hashOf(token));
    if (!row) {
      throw new RefreshRefused("unknown");
    }
    if (row.device !== device) {
      throw new RefreshRefused("device");
    }
    if (row.usedAt !== null) {
      throw new RefreshRefused("used");
    }
    if (row.expiresAt <= this.clock.now()) {
      throw new RefreshRefused("expired");
    }
    return row;
  }
}

function hashOf(token: string): string {
  return createHash("sha256").update(token).digest("base64url");
}
