import { randomUUID } from "node:crypto";
import type { Clock } from "./clock.ts";
import type { Passwords } from "./passwords.ts";
import type { Store, User } from "./store.ts";
import type { AccessTokens } from "./tokens.ts";

export class LoginRefused extends Error {
  constructor(readonly reason: "credentials" | "locked") {
    super(`login refused: ${reason}`);
  }
}

export class SessionEnded extends Error {
  constructor() {
    super("the session has ended");
  }
}

/** What a login answers. Fields are read by three clients: add to them, never rename. */
export interface LoginAnswer {
  accessToken: string;
  expiresIn: number;
  user: { id: string; name: string };
}

/** Logging in, staying logged in, logging out. */
export class Sessions {
  constructor(
    private readonly store: Store,
    private readonly passwords: Passwords,
    private readonly tokens: AccessTokens,
    private readonly clock: Clock,
    private readonly accessSeconds: number,
  ) {}

  async login(name: string, password: string, device: string): Promise<LoginAnswer> {
    const user = this.store.userByName(name);
    if (this.passwords.isLocked(name)) {
      throw new LoginRefused("locked");
    }
    // An unknown name takes as long as a known one, so that names cannot be found by timing.
    const matches = await this.passwords.matches(password, user?.passwordHash);
    if (!user || !matches) {
      this.passwords.noteFailure(name);
      throw new LoginRefused("credentials");
    }
    const session = randomUUID();
    this.store.startSession({
      id: session,
      userId: user.id,
      device,
      startedAt: this.clock.now(),
      endedAt: null,
    });
    return this.answer(user, session);
  }

  /** The user behind an access token; throws TokenError or SessionEnded. */
  whoIs(token: string): { userId: string; session: string } {
    const claims = this.tokens.check(token);
    const session = this.store.session(claims.sid);
    if (!session || session.endedAt !== null) {
      throw new SessionEnded();
    }
    return { userId: claims.sub, session: claims.sid };
  }

  logout(token: string): void {
    const { session } = this.whoIs(token);
    this.store.endSession(session, this.clock.now());
  }

  private answer(user: User, session: string): LoginAnswer {
    return {
      accessToken: this.tokens.issue(user.id, session),
      expiresIn: this.accessSeconds,
      user: { id: user.id, name: user.name },
    };
  }
}
