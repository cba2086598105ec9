import { createHmac, timingSafeEqual } from "node:crypto";
import type { Clock } from "./clock.ts";

/** What an access token says. Times are seconds since 1970. */
export interface Claims {
  /** The user's id. */
  sub: string;
  /** The session the token belongs to. */
  sid: string;
  iat: number;
  exp: number;
}

export class TokenError extends Error {
  constructor(readonly reason: "malformed" | "signature" | "expired") {
    super(`access token refused: ${reason}`);
  }
}

/**
 * Signs and checks access tokens: `base64url(claims).base64url(hmac)`.
 *
 * Not a JWT on purpose: no header, so nobody can choose the algorithm.
 */
export class AccessTokens {
  constructor(
    private readonly secret: string,
    private readonly seconds: number,
    private readonly clock: Clock,
  ) {}

  issue(user: string, session: string): string {
    const now = this.clock.now();
    const claims: Claims = { sub: user, sid: session, iat: now, exp: now + this.seconds };
    const body = Buffer.from(JSON.stringify(claims)).toString("base64url");
    return `${body}.${this.sign(body)}`;
  }

  /** The claims of a token that is whole and not expired; throws TokenError. */
  check(token: string): Claims {
    const [body, signature, ...rest] = token.split(".");
    if (!body || !signature || rest.length > 0) {
      throw new TokenError("malformed");
    }
    if (!sameBytes(signature, this.sign(body))) {
      throw new TokenError("signature");
    }
    const claims = parse(body);
    if (claims.exp <= this.clock.now()) {
      throw new TokenError("expired");
    }
    return claims;
  }

  private sign(body: string): string {
    return createHmac("sha256", this.secret).update(body).digest("base64url");
  }
}

function parse(body: string): Claims {
  try {
    return JSON.parse(Buffer.from(body, "base64url").toString("utf8")) as Claims;
  } catch {
    throw new TokenError("malformed");
  }
}

function sameBytes(left: string, right: string): boolean {
  const a = Buffer.from(left);
  const b = Buffer.from(right);
  return a.length === b.length && timingSafeEqual(a, b);
}
