/** Everything that can be set from outside, with the reason for each default. */
export interface Config {
  port: number;
  /** Where the SQLite file lies. */
  database: string;
  /** Signs access tokens. At least 32 bytes, from the environment only. */
  secret: string;
  /** Seconds an access token is good for. Short, because it cannot be taken back. */
  accessSeconds: number;
  /** Wrong passwords per name and hour before the name is locked for that hour. */
  maxFailures: number;
}

const MIN_SECRET_BYTES = 32;

export function readConfig(env: Record<string, string | undefined>): Config {
  const secret = env.GATEHOUSE_SECRET ?? "";
  if (Buffer.byteLength(secret) < MIN_SECRET_BYTES) {
    throw new Error(`GATEHOUSE_SECRET must have at least ${MIN_SECRET_BYTES} bytes`);
  }
  return {
    port: readNumber(env, "GATEHOUSE_PORT", 8080),
    database: env.GATEHOUSE_DB ?? "gatehouse.db",
    secret,
    accessSeconds: readNumber(env, "GATEHOUSE_ACCESS_SECONDS", 15 * 60),
    maxFailures: readNumber(env, "GATEHOUSE_MAX_FAILURES", 10),
  };
}

function readNumber(env: Record<string, string | undefined>, name: string, fallback: number): number {
  const text = env[name];
  if (text === undefined || text === "") {
    return fallback;
  }
  const value = Number(text);
  if (!Number.isInteger(value) || value <= 0) {
    throw new Error(`${name} must be a positive whole number, not ${JSON.stringify(text)}`);
  }
  return value;
}
